// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names are libseccomp's, which has those of each architecture. Arguments are named as the kernel's own events for
 * single calls name them (events/syscalls/sys_enter_NAME/format), for those that VMMs make.
 */
#include "event/syscall_table.h"

#include <seccomp.h>
#include <stdbool.h>
#include <string.h>

#include "syscalls.h"

static const struct {
	const char *name, *args;
} args_of[] = {
	{"read", "fd,buf,count"},
	{"write", "fd,buf,count"},
	{"readv", "fd,vec,vlen"},
	{"writev", "fd,vec,vlen"},
	{"pread64", "fd,buf,count,pos"},
	{"pwrite64", "fd,buf,count,pos"},
	{"preadv", "fd,vec,vlen,pos_l,pos_h"},
	{"pwritev", "fd,vec,vlen,pos_l,pos_h"},
	{"preadv2", "fd,vec,vlen,pos_l,pos_h,flags"},
	{"pwritev2", "fd,vec,vlen,pos_l,pos_h,flags"},
	{"open", "filename,flags,mode"},
	{"openat", "dfd,filename,flags,mode"},
	{"close", "fd"},
	{"lseek", "fd,offset,whence"},
	{"fsync", "fd"},
	{"fdatasync", "fd"},
	{"fallocate", "fd,mode,offset,len"},
	{"ftruncate", "fd,length"},
	{"fstat", "fd,statbuf"},
	{"newfstatat", "dfd,filename,statbuf,flag"},
	{"statx", "dfd,filename,flags,mask,buffer"},
	{"ioctl", "fd,cmd,arg"},
	{"fcntl", "fd,cmd,arg"},
	{"poll", "ufds,nfds,timeout_msecs"},
	{"ppoll", "ufds,nfds,tsp,sigmask,sigsetsize"},
	{"select", "n,inp,outp,exp,tvp"},
	{"pselect6", "n,inp,outp,exp,tsp,sig"},
	{"epoll_wait", "epfd,events,maxevents,timeout"},
	{"epoll_pwait", "epfd,events,maxevents,timeout,sigmask,sigsetsize"},
	{"epoll_pwait2", "epfd,events,maxevents,timeout,sigmask,sigsetsize"},
	{"epoll_ctl", "epfd,op,fd,event"},
	{"eventfd2", "count,flags"},
	{"io_uring_enter", "fd,to_submit,min_complete,flags,argp,argsz"},
	{"io_submit", "ctx_id,nr,iocbpp"},
	{"io_getevents", "ctx_id,min_nr,nr,events,timeout"},
	{"futex", "uaddr,op,val,utime,uaddr2,val3"},
	{"mmap", "addr,len,prot,flags,fd,off"},
	{"munmap", "addr,len"},
	{"mprotect", "start,len,prot"},
	{"madvise", "start,len,behavior"},
	{"mremap", "addr,old_len,new_len,flags,new_addr"},
	{"brk", "brk"},
	{"nanosleep", "rqtp,rmtp"},
	{"clock_nanosleep", "which_clock,flags,rqtp,rmtp"},
	{"clock_gettime", "which_clock,tp"},
	{"timerfd_settime", "ufd,flags,utmr,otmr"},
	{"sendto", "fd,buff,len,flags,addr,addr_len"},
	{"recvfrom", "fd,ubuf,size,flags,addr,addr_len"},
	{"sendmsg", "fd,msg,flags"},
	{"recvmsg", "fd,msg,flags"},
	{"sendmmsg", "fd,mmsg,vlen,flags"},
	{"recvmmsg", "fd,mmsg,vlen,flags,timeout"},
	{"accept4", "fd,upeer_sockaddr,upeer_addrlen,flags"},
	{"connect", "fd,uservaddr,addrlen"},
	{"socket", "family,type,protocol"},
	{"getpid", ""},
	{"gettid", ""},
	{"getppid", ""},
	{"sched_yield", ""},
	{"tgkill", "tgid,pid,sig"},
	{"kill", "pid,sig"},
	{"rt_sigaction", "sig,act,oact,sigsetsize"},
	{"rt_sigprocmask", "how,nset,oset,sigsetsize"},
	{"rt_sigtimedwait", "uthese,uinfo,uts,sigsetsize"},
	{"clone", "clone_flags,newsp,parent_tidptr,child_tidptr,tls"},
	{"clone3", "uargs,size"},
	{"execve", "filename,argv,envp"},
	{"exit", "error_code"},
	{"exit_group", "error_code"},
	{"wait4", "upid,stat_addr,options,ru"},
	{"prctl", "option,arg2,arg3,arg4,arg5"},
	{"bpf", "cmd,uattr,size"},
	{"unlinkat", "dfd,pathname,flag"},
	{"getrandom", "ubuf,len,flags"},
	{"dup", "oldfd"},
	{"dup3", "oldfd,newfd,flags"},
	{"pipe2", "fildes,flags"},
	{"splice", "fd_in,off_in,fd_out,off_out,len,flags"},
	{"copy_file_range", "fd_in,off_in,fd_out,off_out,len,flags"},
	{"setpriority", "which,who,niceval"},
	{"sched_setaffinity", "pid,len,user_mask_ptr"},
	{"membarrier", "cmd,flags,cpu_id"},
};

/* Names are looked up once; "": there is none. */
static const char *name_of(bool generic, uint32_t number)
{
	static char *process_wide[2][SYSCALLS_MAX];
	char **name = &process_wide[generic][number];

	if (!*name)
		*name = seccomp_syscall_resolve_num_arch(
			generic ? SCMP_ARCH_AARCH64 : SCMP_ARCH_X86_64, (int)number);
	if (!*name)
		*name = strdup("");
	return *name && **name ? *name : NULL;
}

const char *syscall_of_number(uint64_t number)
{
	uint64_t plain = number & ~(uint64_t)SYSCALL_GENERIC;

	return plain < SYSCALLS_MAX ? name_of(plain != number, (uint32_t)plain) : NULL;
}

const char *syscall_of_here(long number)
{
#ifdef __aarch64__
	const uint64_t bits = SYSCALL_GENERIC;
#else
	const uint64_t bits = 0;
#endif

	return number < 0 ? NULL : syscall_of_number((uint64_t)number | bits);
}

const char *syscall_args(const char *name)
{
	for (size_t i = 0; i < sizeof(args_of) / sizeof(*args_of); i++)
		if (!strcmp(args_of[i].name, name))
			return args_of[i].args;
	return NULL;
}

/* include/linux/errno.h: a signal interrupts the call, and the kernel may restart it. */
const char *syscall_error_name(unsigned int number)
{
	static const char *const internal[] = {"ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND",
					       "ENOIOCTLCMD", "ERESTART_RESTARTBLOCK"};
	enum { INTERNAL_FIRST = 512, NR_INTERNAL = sizeof(internal) / sizeof(*internal) };

	if (number >= INTERNAL_FIRST && number < INTERNAL_FIRST + NR_INTERNAL)
		return internal[number - INTERNAL_FIRST];
	return number <= 4095 ? strerrorname_np((int)number) : NULL;
}
