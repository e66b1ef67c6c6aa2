package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A supervisor passes signals on to the server and closes it down when the
// host has gone: the host's EOF has gone through by then, unless the server
// does not read, so it waits grace, sends SIGTERM, waits grace, and kills. A
// server that still reads or writes is at work on what it was asked before: the
// first wait is for silence.
type supervisor struct {
	grace  time.Duration
	own    func(os.Signal) bool // takes a signal that is not for the server
	signal func(os.Signal)
	kill   func()
	last   func() time.Time // of the last byte that moved, or of the start

	left     atomic.Bool // the host has gone
	signaled atomic.Bool // the server was sent a signal
}

// run returns when the server has exited.
func (s *supervisor) run(left <-chan struct{}, signals <-chan os.Signal, exited <-chan struct{}) {
	var timer <-chan time.Time
	termed, hurried := false, false
	for {
		select {
		case <-exited:
			return
		case <-left:
			left = nil
			timer = time.After(s.grace)
		case sig := <-signals:
			if s.own(sig) {
				continue
			}
			s.send(sig)
			// The host follows the same steps, and will kill us next: a server
			// that does not obey must be gone by then.
			if sig == syscall.SIGTERM && timer != nil && !hurried {
				termed, hurried, timer = true, true, time.After(s.grace*3/4)
			}
		case <-timer:
			switch silent := time.Since(s.last()); {
			case termed:
				s.kill()
				timer = nil
			case silent < s.grace:
				timer = time.After(s.grace - silent)
			default:
				s.send(syscall.SIGTERM)
				termed, timer = true, time.After(s.grace)
			}
		}
	}
}

func (s *supervisor) send(sig os.Signal) {
	s.signaled.Store(true)
	s.signal(sig)
}
