//go:build unix

package main

import (
	"io"
	"os"
	"syscall"
)

// polled returns stdin in a form whose Read waits in Go's poller instead of in
// the system, and a function that undoes it. A Read in the system keeps its
// processor until the scheduler notices, while the server's answer waits: on
// one processor a round trip took 177 µs instead of 40.
//
// Not to block is a property of the pipe's end, which others may share: it is
// left alone where it is no pipe or socket, or is stdout or stderr too.
func polled(in io.Reader) (polled io.Reader, undo func()) {
	if in == io.Reader(os.Stdin) && isOurs(0) && syscall.SetNonblock(0, true) == nil {
		return os.NewFile(0, "stdin"), func() { syscall.SetNonblock(0, false) }
	}
	return in, func() {}
}

// isOurs reports whether fd is a pipe or a socket that stdout and stderr are not.
func isOurs(fd int) bool {
	var own, out, err syscall.Stat_t
	if syscall.Fstat(fd, &own) != nil || syscall.Fstat(1, &out) != nil || syscall.Fstat(2, &err) != nil {
		return false
	}
	kind := own.Mode & syscall.S_IFMT
	return (kind == syscall.S_IFIFO || kind == syscall.S_IFSOCK) &&
		(own.Dev != out.Dev || own.Ino != out.Ino) && (own.Dev != err.Dev || own.Ino != err.Ino)
}
