package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"example.com/mcp/framing"
)

// maxGone is the number of given-up calls whose late answers are known as such.
const maxGone = 1024

// call is a request of ours that waits for its answer. Whoever takes it out of Conn.calls fills it and closes done. It is
// not pooled: a channel made in a testing/synctest bubble must not come up in another.
type call struct {
	done chan struct{}
	msg  framing.Message
	err  error
}

// Call sends a request and waits for its answer, which it parses into result as [json.Unmarshal] does; a *json.RawMessage
// gets the bytes without parsing, and a nil result ignores them. params is what [framing.Encode] takes, an object or an
// array; nil sends none.
//
// The error is an [*Error] if the other side answered with one. If ctx ends first, Call returns ctx.Err() at once and tells
// the other side with notifications/cancelled (but for initialize, which MCP does not let a client cancel); a late answer is
// thrown away. If the connection ends first, or has ended, or the answer is unusable (too long, not JSON-RPC), the
// error says so; the first two wrap [ErrClosed]. An answer is known by its id also where the other side writes 1.0 or "1" for
// 1. Before [Conn.Run] has been called nothing reads the answer.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &call{done: make(chan struct{})}
	id, err := c.register(w)
	if err != nil {
		return err
	}
	if err := c.sendCall(ctx, id, method, params); err != nil {
		return c.withdraw(ctx, id, w, err)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if c.giveUp(ctx, id, method) {
			return ctx.Err()
		}
		<-w.done // the answer was faster
	}
	return w.finish(result)
}

// Notify sends a notification and returns when it has been written. params is as for [Conn.Call]. What is sent after Notify
// has returned arrives after it. If ctx ends first, Notify returns ctx.Err(), and the notification may still go out. If the
// connection has ended or broken, the error wraps [ErrClosed].
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := scratches.Get().(*scratch)
	frame, err := s.request(nil, method, params)
	if err != nil {
		s.release()
		return err
	}
	mark, err := c.out.post(ctx, frame, framing.Notification, 0, maxUnsent)
	s.release()
	if err == nil {
		err = c.out.wait(ctx, mark)
	}
	if err != nil && err != ctx.Err() {
		return c.lost(err)
	}
	return err
}

// lost returns what callers get when a write has failed with err: what the calls get, if that is known already.
func (c *Conn) lost(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callErr != nil {
		return c.callErr
	}
	return closedBy(err)
}

// register gives w an id.
func (c *Conn) register(w *call) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callErr != nil {
		return 0, c.callErr
	}
	c.lastID++
	c.calls[c.lastID] = w
	return c.lastID, nil
}

func (c *Conn) sendCall(ctx context.Context, id int64, method string, params any) error {
	s := scratches.Get().(*scratch)
	defer s.release()
	var digits [20]byte
	frame, err := s.request(strconv.AppendInt(digits[:0], id, 10), method, params)
	if err != nil {
		return err
	}
	_, err = c.out.post(ctx, frame, framing.Request, 0, maxUnsent)
	return err
}

// withdraw takes back a call that could not be sent because of err, and returns what Call is to return. If the
// connection has broken, Run is about to fail all calls and knows better why: for a Client, the exit status of the server.
func (c *Conn) withdraw(ctx context.Context, id int64, w *call, err error) error {
	if c.out.failure() != nil && c.running() {
		select {
		case <-w.done:
			return w.finish(nil)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if c.unregister(id) == nil {
		<-w.done
		return w.finish(nil)
	}
	if c.out.failure() != nil && err != ctx.Err() {
		return c.lost(err)
	}
	return err
}

// running reports whether Run has been called.
func (c *Conn) running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx != nil
}

// inFlight reports whether our call with that id waits for its answer.
func (c *Conn) inFlight(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id] != nil
}

// unregister takes the call with that id out, or returns nil if it has been answered.
func (c *Conn) unregister(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.calls[id]
	delete(c.calls, id)
	return w
}

// giveUp takes back a call that has been sent and tells the other side. It reports whether the call was still there.
func (c *Conn) giveUp(ctx context.Context, id int64, method string) bool {
	c.mu.Lock()
	w := c.calls[id]
	if w != nil {
		delete(c.calls, id)
		if len(c.gone) == maxGone {
			clear(c.gone)
		}
		c.gone[id] = true
	}
	c.mu.Unlock()
	if w == nil {
		return false
	}
	if method != "initialize" {
		s := scratches.Get().(*scratch)
		defer s.release()
		frame, err := s.request(nil, "notifications/cancelled", map[string]any{"requestId": id, "reason": context.Cause(ctx).Error()})
		if err == nil {
			// It stands behind the request, and does not wait: who does not read it, does not need it.
			c.out.post(nil, frame, framing.Notification, 0, maxUnsentReplies)
		}
	}
	return true
}

// request returns the frame of a request, or of a notification if id is nil.
func (s *scratch) request(id json.RawMessage, method string, params any) ([]byte, error) {
	raw, err := s.raw(params)
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		raw = nil // JSON-RPC 2.0 section 4.2: an object, an array or nothing
	}
	kind := framing.Request
	if id == nil {
		kind = framing.Notification
	}
	s.message = framing.Message{Kind: kind, ID: id, Method: method, Params: raw}
	return s.encode()
}

// response gives a response to its call.
func (c *Conn) response(m *framing.Message) {
	if c.settleCall(m, nil) {
		return
	}
	id, ok := callID(m.ID)
	c.mu.Lock()
	late := ok && c.gone[id]
	if late {
		delete(c.gone, id)
		c.stats.Late++
	} else {
		c.stats.Unmatched++
	}
	c.mu.Unlock()
	if !late {
		c.report(m)
	}
}

// badResponse settles the call that the bad line m answers, and reports whether there was one. If m is at fault for an id
// like 1.0 alone, it is the answer all the same. Any other cannot be used, and is the last one for its id.
func (c *Conn) badResponse(m *framing.Message) bool {
	if idAtFault(m) {
		return c.settleCall(m, nil)
	}
	return c.settleCall(m, fmt.Errorf("stdio: unusable response: %w", m.Err))
}

// idAtFault reports whether m, an object without a method, would be a response with another number for an id. Package
// framing looks at the id last.
func idAtFault(m *framing.Message) bool {
	var e *framing.LineError
	return m.Kind == framing.Invalid && m.ID != nil && errors.As(m.Err, &e) && bytes.HasPrefix(m.Line[e.Offset:], m.ID)
}

// settleCall hands m or err to the call that has m's id, and reports whether there was one.
func (c *Conn) settleCall(m *framing.Message, err error) bool {
	id, ok := callID(m.ID)
	if !ok {
		return false
	}
	w := c.unregister(id)
	if w == nil {
		return false
	}
	w.msg, w.err = *m, err
	close(w.done)
	return true
}

// callID returns the number that raw stands for, as we write ours or as some peers give it back: one that keeps numbers as
// doubles writes 1.0, one that has only strings for ids "1". Ours are numbers all, so there is no other that could be meant.
func callID(raw json.RawMessage) (int64, bool) {
	if id, ok := decimal(raw); ok || len(raw) == 0 {
		return id, ok
	}
	if raw[0] == '"' {
		return decimal(raw[1 : len(raw)-1])
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	id := int64(f)
	return id, err == nil && f == float64(id) && id > 0
}

// decimal returns the number that digits is.
func decimal(digits []byte) (int64, bool) {
	if len(digits) == 0 || len(digits) > 18 { // 18 digits fit into an int64
		return 0, false
	}
	var id int64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		id = id*10 + int64(d-'0')
	}
	return id, true
}

// refuseCalls fails the calls to come, not those in flight.
func (c *Conn) refuseCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callErr == nil {
		c.callErr = ErrClosed
	}
}

// failCalls fails all calls, those to come included. end is what Run returns.
func (c *Conn) failCalls(end error) {
	c.mu.Lock()
	over := c.calls == nil
	c.mu.Unlock()
	if over {
		return
	}
	if c.cause != nil {
		end = c.cause(end)
	}
	err := closedBy(end)
	c.mu.Lock()
	calls := c.calls
	c.calls, c.callErr = nil, err
	c.mu.Unlock()
	for _, w := range calls {
		w.err = err
		close(w.done)
	}
}

// finish returns the outcome to the caller.
func (w *call) finish(result any) error {
	m := &w.msg
	if w.err != nil {
		return w.err
	}
	if m.ErrorObject != nil {
		return received(m.ErrorObject)
	}
	switch result := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*result = m.Result
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("stdio: result: %w", err)
	}
	return nil
}
