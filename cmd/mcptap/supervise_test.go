package main

import (
	"fmt"
	"os"
	"reflect"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestSupervisor follows the steps of closing a server down, on a clock of
// its own. A server here exits exitAfter the event it obeys.
func TestSupervisor(t *testing.T) {
	const grace = 2 * time.Second
	tests := []struct {
		name  string
		obeys string        // "eof", "terminated", "interrupt" or "kill"
		busy  time.Duration // it writes until then
		leave time.Duration // when the host goes; <0: never
		send  map[time.Duration]os.Signal
		want  []string
	}{
		{"goes at EOF", "eof", 0, 0, nil, []string{"0s eof"}},
		{"goes at SIGTERM", "terminated", 0, 0, nil, []string{"0s eof", "2s terminated"}},
		{"goes at SIGKILL", "kill", 0, 0, nil, []string{"0s eof", "2s terminated", "4s kill"}},
		{"still at work", "terminated", 5 * time.Second, 0, nil, []string{"0s eof", "7s terminated"}},
		{"host's SIGTERM instead of ours", "kill", 0, 0, map[time.Duration]os.Signal{time.Second: syscall.SIGTERM},
			[]string{"0s eof", "1s terminated", "2.5s kill"}},
		{"host's SIGTERM after ours", "kill", 0, 0, map[time.Duration]os.Signal{2100 * time.Millisecond: syscall.SIGTERM, 3 * time.Second: syscall.SIGTERM},
			[]string{"0s eof", "2s terminated", "2.1s terminated", "3s terminated", "3.6s kill"}},
		{"signals go through", "terminated", 0, -1, map[time.Duration]os.Signal{time.Second: os.Interrupt, 9 * time.Second: syscall.SIGTERM},
			[]string{"1s interrupt", "9s terminated"}},
		{"a signal of our own does not", "interrupt", 0, -1, map[time.Duration]os.Signal{time.Second: syscall.SIGHUP, 2 * time.Second: os.Interrupt},
			[]string{"2s interrupt"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				exited := make(chan struct{})
				var got []string
				step := func(what string) {
					got = append(got, fmt.Sprint(time.Since(began).Round(100*time.Millisecond), " ", what))
					if what == test.obeys {
						close(exited)
					}
				}
				s := supervisor{
					grace:  grace,
					own:    func(sig os.Signal) bool { return sig == syscall.SIGHUP },
					signal: func(sig os.Signal) { step(sig.String()) },
					kill:   func() { step("kill") },
					last: func() time.Time {
						if busy := began.Add(test.busy); time.Now().After(busy) {
							return busy
						}
						return time.Now()
					},
				}
				left, signals := make(chan struct{}), make(chan os.Signal)
				for at, sig := range test.send {
					time.AfterFunc(at, func() { signals <- sig })
				}
				if test.leave >= 0 {
					step("eof")
					close(left)
				}
				s.run(left, signals, exited)
				if !reflect.DeepEqual(got, test.want) {
					t.Errorf("steps %q, want %q", got, test.want)
				}
			})
		})
	}
}
