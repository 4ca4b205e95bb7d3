"""A server of ClickHouse's interface that answers what it is told with an exception of status 200."""
import http.server
import os
import sys
import urllib.parse

wanted, body = sys.argv[1], sys.argv[2].encode()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        sql = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["query"][0]
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fails = sql.startswith(wanted)
        reply = body if fails else b"24.1.1.1\n" if "version()" in sql else b""
        self.send_response(200)
        if fails:
            self.send_header("X-ClickHouse-Exception-Code", "241")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w", encoding="ascii") as f:
    f.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
