package main

import (
	"sync/atomic"
	"time"
)

// A pulse says when a stream was last alive. A write to the host that is under
// way is a sign of life for as long as it takes: the bytes are on their way.
type pulse struct {
	at      atomic.Pointer[time.Time]
	passing atomic.Bool
}

func (p *pulse) beat() {
	now := time.Now()
	p.at.Store(&now)
}

func (p *pulse) last() time.Time {
	if p.passing.Load() {
		return time.Now()
	}
	return *p.at.Load()
}
