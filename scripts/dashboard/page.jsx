// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dashboard on a page: panels, queries, units and legends by the dashboard's file, data from a Prometheus, drawn by
 * Grafana's components. picture.sh builds it; page.html#PROMETHEUS-URL,START,END,SCRAPE-SECONDS.
 *
 * What Grafana does around its components is done here: variables ("All" of each), $__rate_interval, names of series.
 * Its heat map is not among the components that it publishes: that panel says so.
 */
import React from 'react';
import { createRoot } from 'react-dom/client';
import {
	createTheme, dateTime, EventBusSrv, FieldType, getDisplayProcessor, ThemeContext, toDataFrame,
} from '@grafana/data';
import { GlobalStyles, LegendDisplayMode, PanelChrome, PanelContextProvider, TimeSeries } from '@grafana/ui';
import 'uplot/dist/uPlot.min.css';
import dashboard from '../../examples/prometheus/grafana-dashboard.json';

const COLUMN = 50, ROW = 26, PAD = 8; // pixels of a cell of the grid, which has 24 columns; Grafana's are 30 high
const [url, start, end, scrape] = location.hash.slice(1).split(',');
const theme = createTheme({ colors: { mode: 'light' } });
const palette = theme.visualization.palette;
const step = Math.max(scrape, Math.ceil((end - start) / 400));
const range = { from: dateTime(start * 1000), to: dateTime(end * 1000) };
range.raw = range;

/* Grafana's rule: at least four scrapes, so that rate() has two samples. */
const variables = {
	$__rate_interval: Math.max(step + Number(scrape), 4 * scrape) + 's',
	$instance: '.*',
	$vm: '.*',
};
const expression = (text) => text.replace(/\$\w+/g, (name) => variables[name] ?? name);
const name = (format, labels) => format.replace(/{{\s*(\w+)\s*}}/g, (_, label) => labels[label] ?? '');

async function answer(target) {
	const query = new URLSearchParams({ query: expression(target.expr), start, end, step });
	const { status, error, data } = await (await fetch(`${url}/api/v1/query_range?${query}`)).json();

	if (status !== 'success')
		throw new Error(`${target.expr}: ${error}`);
	return data.result.map((row) => ({ name: name(target.legendFormat, row.metric), values: row.values }));
}

/* One frame: all times, and null where a series has no value. */
function frame(panel, series) {
	const times = [...new Set(series.flatMap((s) => s.values.map(([t]) => t)))].sort((a, b) => a - b);
	const { defaults } = panel.fieldConfig;
	const fields = series.map((s, index) => {
		const at = new Map(s.values);
		return {
			name: s.name,
			type: FieldType.number,
			values: times.map((t) => (at.has(t) ? Number(at.get(t)) : null)),
			config: {
				...defaults,
				displayName: s.name,
				color: { mode: 'fixed', fixedColor: palette[index % palette.length] },
				custom: { drawStyle: 'line', lineWidth: 1, fillOpacity: 8, showPoints: 'never', spanNulls: false },
			},
		};
	});
	const time = { name: 'Time', type: FieldType.time, values: times.map((t) => t * 1000), config: {} };
	const all = toDataFrame({ fields: [time, ...fields] });

	all.fields.forEach((field) => (field.display = getDisplayProcessor({ field, theme })));
	return all;
}

/* The ones with the highest values, as the legend has little room. */
const peak = (series) => Math.max(...series.values.map(([, value]) => Number(value) || 0));
const highest = (all) => all.sort((a, b) => peak(b) - peak(a)).slice(0, 8);

function Graph({ panel, series, width, height }) {
	if (!series.length)
		return <p style={{ textAlign: 'center' }}>No data</p>;
	return (
		<TimeSeries
			frames={[frame(panel, series)]}
			timeRange={range}
			timeZone="utc"
			width={width}
			height={height}
			legend={{ showLegend: true, displayMode: LegendDisplayMode.List, placement: 'bottom', calcs: [] }}
		/>
	);
}

function Panel({ panel, series }) {
	const { x, y, w, h } = panel.gridPos;
	const inside = (width, height) =>
		panel.type === 'timeseries'
			? <Graph panel={panel} series={series} width={width} height={height} />
			: <p style={{ textAlign: 'center' }}>{`${panel.type}: only in Grafana itself`}</p>;
	return (
		<div style={{ position: 'absolute', left: x * COLUMN + PAD, top: y * ROW + PAD }}>
			<PanelChrome title={panel.title} width={w * COLUMN - PAD} height={h * ROW - PAD}>{inside}</PanelChrome>
		</div>
	);
}

async function main() {
	const panels = await Promise.all(dashboard.panels.map(async (panel) => {
		const targets = panel.type === 'timeseries' ? panel.targets : [];
		return { panel, series: highest((await Promise.all(targets.map(answer))).flat()) };
	}));
	const context = { eventsScope: 'global', eventBus: new EventBusSrv() };

	document.body.style = `margin: 0; background: ${theme.colors.background.canvas}`;
	createRoot(document.querySelector('#dashboard')).render(
		<ThemeContext.Provider value={theme}>
			<PanelContextProvider value={context}>
				<GlobalStyles />
				{panels.map((p) => <Panel key={p.panel.id} {...p} />)}
			</PanelContextProvider>
		</ThemeContext.Provider>
	);
	document.documentElement.dataset.empty =
		panels.filter((p) => p.panel.type === 'timeseries' && !p.series.length).map((p) => p.panel.title).join('; ');
	setTimeout(() => (document.documentElement.dataset.ready = '1'), 3000); // the graphs are drawn a little later
}

main().catch((error) => (document.body.textContent = error.stack));
