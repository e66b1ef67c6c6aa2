package main

import (
	"os"
	"syscall"
)

// onHangup has gone called when the other end of stream, if that is a pipe or
// a socket, is closed. Reading tells it too, but not while the server does not
// take what was read before: a host that is killed then would leave both of us
// behind.
func onHangup(stream any, gone func()) {
	f, ok := stream.(*os.File)
	if !ok {
		return
	}
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	conn, err := f.SyscallConn()
	if err == nil {
		// EPOLLHUP and EPOLLERR, the end of a pipe's writers and of its readers, always count.
		event := syscall.EpollEvent{Events: syscall.EPOLLRDHUP}
		cerr := conn.Control(func(fd uintptr) { err = syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, int(fd), &event) })
		if cerr != nil {
			err = cerr
		}
	}
	if err != nil { // a file, say
		syscall.Close(poll)
		return
	}
	go func() {
		defer syscall.Close(poll)
		if waitOne(poll) == nil {
			gone()
		}
	}()
}

// waitOne waits for an event.
func waitOne(poll int) error {
	for {
		var events [1]syscall.EpollEvent
		if _, err := syscall.EpollWait(poll, events[:], -1); err != syscall.EINTR {
			return err
		}
	}
}
