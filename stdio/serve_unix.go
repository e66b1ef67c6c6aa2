//go:build unix && !solaris && !illumos

package stdio

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// streams are the stdin and stdout that Serve has claimed.
type streams struct {
	in, out     *os.File
	inFD, outFD int
	blocking    bool // stdin was, before we changed that
	sigpipe     chan os.Signal
}

// claim moves stdin and stdout to other descriptors and leaves /dev/null and stderr in their place.
func claim() (*streams, error) {
	s := &streams{inFD: -1, outFD: -1}
	if err := s.move(); err != nil {
		s.putBack()
		return nil, err
	}
	s.blocking = s.unblock()
	// NewFile looks at the mode, and so uses the poller for a descriptor that does not block.
	s.in = os.NewFile(uintptr(s.inFD), "stdin")
	s.out = os.NewFile(uintptr(s.outFD), "stdout")
	// With somebody listening to SIGPIPE, Go does not end the process for a write to a broken stderr (or stdout, which is
	// the same now). Unlike an ignored signal this is not inherited by children.
	s.sigpipe = make(chan os.Signal, 1)
	signal.Notify(s.sigpipe, syscall.SIGPIPE)
	return s, nil
}

func (s *streams) move() (err error) {
	if s.inFD, err = dup(0); err != nil {
		return err
	}
	if s.outFD, err = dup(1); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	return errors.Join(dup2(int(null.Fd()), 0), dup2(2, 1))
}

// unblock makes reads from stdin interruptible, so that Serve leaves no goroutine behind that would swallow a line, and
// reports whether it has. It keeps away from terminals, whose mode is shared with the shell, and from a socket that is
// also stdout or stderr, whose other users expect writes to block.
func (s *streams) unblock() bool {
	var in, out, err2 syscall.Stat_t
	if syscall.Fstat(s.inFD, &in) != nil || syscall.Fstat(s.outFD, &out) != nil || syscall.Fstat(2, &err2) != nil {
		return false
	}
	if kind := in.Mode & syscall.S_IFMT; kind != syscall.S_IFIFO && kind != syscall.S_IFSOCK {
		return false
	}
	if in.Dev == out.Dev && in.Ino == out.Ino || in.Dev == err2.Dev && in.Ino == err2.Ino {
		return false
	}
	return syscall.SetNonblock(s.inFD, true) == nil
}

// restore puts everything back after Run has returned err.
func (s *streams) restore(err error) {
	if !errors.Is(err, syscall.EPIPE) {
		signal.Stop(s.sigpipe)
	}
	s.putBack()
	s.in.Close() // wakes a blocked Read, if the poller has it
	s.out.Close()
}

// putBack undoes move.
func (s *streams) putBack() {
	if s.inFD >= 0 {
		dup2(s.inFD, 0)
	}
	if s.outFD >= 0 {
		dup2(s.outFD, 1)
	}
	if s.blocking {
		syscall.SetNonblock(0, false)
	}
	if s.in == nil { // claim has failed
		syscall.Close(s.inFD)
		syscall.Close(s.outFD)
	}
}

// dup returns a copy of fd that children do not inherit.
func dup(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, err := syscall.Dup(fd)
	if err != nil {
		return -1, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(n)
	return n, nil
}
