package stdio

import (
	"context"
	"sync"
	"time"
)

// requestContext is the context of one request. It becomes a real cancellable context only when somebody asks for its
// Done channel, which most handlers never do: context.WithCancel for each request would be three allocations of the six
// that a ping may cost.
type requestContext struct {
	parent context.Context // the connection's

	mu     sync.Mutex
	real   context.Context // nil until Done is called
	cancel context.CancelFunc
	ended  bool
}

func (x *requestContext) Deadline() (time.Time, bool) { return x.parent.Deadline() }

func (x *requestContext) Done() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.real == nil {
		x.real, x.cancel = context.WithCancel(x.parent)
		if x.ended {
			x.cancel()
		}
	}
	return x.real.Done()
}

func (x *requestContext) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.real != nil:
		return x.real.Err()
	case x.ended:
		return context.Canceled
	}
	return x.parent.Err()
}

// Value asks the real context once there is one, so that package context finds its own type behind x and links a derived
// context to it without a goroutine.
func (x *requestContext) Value(key any) any {
	x.mu.Lock()
	at := x.real
	x.mu.Unlock()
	if at == nil {
		at = x.parent
	}
	return at.Value(key)
}

// end cancels the context.
func (x *requestContext) end() {
	x.mu.Lock()
	x.ended = true
	cancel := x.cancel
	x.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
