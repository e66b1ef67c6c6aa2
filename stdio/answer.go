package stdio

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"

	"example.com/mcp/framing"
)

// errExited is the error of a handler that has left by runtime.Goexit, as t.FailNow does.
var errExited = errors.New("the handler has ended its goroutine")

// startReady makes ready what may start and brings a goroutine for each. c.mu is held.
func (c *Conn) startReady() {
	for range c.queue.grant() {
		go c.work()
	}
}

// work runs ready jobs until there is none.
func (c *Conn) work() {
	var j *job
	defer func() {
		if j != nil { // only runtime.Goexit comes here with a job
			c.answer(j, nil, &panicked{value: errExited})
			c.mu.Lock()
			c.jobDone(j)
			c.startReady()
			c.mu.Unlock()
		}
	}()
	for j = c.take(nil); j != nil; j = c.take(j) {
		result, err := c.invoke(j)
		c.answer(j, result, err)
	}
}

// take gives back the place of the job that is done and returns the next one, or nil.
func (c *Conn) take(done *job) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done != nil {
		c.jobDone(done)
		// One of those that may start now is for this goroutine.
		for range c.queue.grant() - 1 {
			go c.work()
		}
	}
	if c.ended || c.queue.ready.len() == 0 {
		return nil
	}
	return c.queue.ready.pop()
}

// invoke calls the handler.
func (c *Conn) invoke(j *job) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v, debug.Stack()}
		}
	}()
	return c.handler(&j.ctx, &j.Request)
}

// answer sends what the handler has returned, to those who wait for it.
func (c *Conn) answer(j *job, result any, err error) {
	j.ctx.end()
	if p, ok := err.(*panicked); ok {
		c.logPanic(j, p)
	}
	if j.ID == nil {
		if err != nil {
			c.opt.Logger.Warn("notification failed", "method", j.Method, "err", err)
		}
		return
	}
	c.mu.Lock()
	c.forget(j) // before it is written: who has the answer may use the id again
	cancelled := j.cancelled
	from := aHandler
	if c.queue.running == 1 {
		from = theOnlyHandler
	}
	c.mu.Unlock()
	if !cancelled {
		s := scratches.Get().(*scratch)
		c.deliver(from, c.compose(s, j, result, err), j.batch)
		s.release()
	}
	c.leave(from, j.batch)
}

// compose returns the frame that answers j. The handler's result and err bring methods of their own, a MarshalJSON or an
// Unwrap, and one that panics is a panic of the handler: it must not end the process.
func (c *Conn) compose(s *scratch, j *job, result any, err error) (frame []byte) {
	defer func() {
		if v := recover(); v != nil {
			p := &panicked{v, debug.Stack()}
			c.logPanic(j, p)
			frame = s.refusal(j.ID, internalError(p))
		}
	}()
	return s.response(j.ID, result, err, j.Method)
}

func (c *Conn) logPanic(j *job, p *panicked) {
	c.opt.Logger.Error("panic in a handler", "method", j.Method, "panic", p.Error(), "stack", string(p.stack))
}

// forget takes a request out of those in hand. c.mu is held.
func (c *Conn) forget(j *job) {
	delete(c.inHand, string(j.ID))
	if j.cancelled {
		c.stats.Cancelled++
	}
}

// reply answers for the read loop, without a handler.
func (c *Conn) reply(id json.RawMessage, e *Error, b *batch) {
	s := scratches.Get().(*scratch)
	c.deliver(theReadLoop, s.refusal(id, e), b)
	s.release()
}

// sender is who sends an answer. It decides how long it may wait.
type sender uint8

const (
	theReadLoop    sender = iota // may wait only when the other side has very much to read
	aHandler                     // may wait
	theOnlyHandler               // may wait, and nobody else has anything that could go out together with its answer
)

// deliver sends the frame of one response, or adds it to b.
func (c *Conn) deliver(from sender, frame []byte, b *batch) {
	if b != nil {
		b.add(frame)
		return
	}
	c.send(from, frame, framing.Response, 1)
}

// send sends an answer. An error has ended the connection, and Run returns it.
func (c *Conn) send(from sender, frame []byte, kind framing.Kind, answers int) {
	limit := maxUnsent
	switch from {
	case theReadLoop:
		limit = maxUnsentReplies
	case theOnlyHandler:
		if c.out.direct(frame, kind, answers) {
			return
		}
	}
	c.out.post(c.ctx, frame, kind, answers, limit)
}

// batch gathers the answers to the elements of a JSON-RPC batch. It is sent when all that have joined it have left.
// The read loop is one of them while it reads the batch.
type batch struct {
	mu      sync.Mutex
	left    int
	text    []byte // "[" and the answers with commas between them
	answers int
}

// join adds somebody to wait for. b may be nil.
func (b *batch) join() {
	if b != nil {
		b.mu.Lock()
		b.left++
		b.mu.Unlock()
	}
}

// add adds an answer.
func (b *batch) add(frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	separator := byte(',')
	if b.answers == 0 {
		separator = '['
	}
	b.text = append(append(b.text, separator), frame[:len(frame)-1]...)
	b.answers++
}

// leave sends b if nobody else is to be waited for, and there is anything to send: JSON-RPC 2.0 section 6 wants nothing at
// all rather than an empty array. b may be nil.
func (c *Conn) leave(from sender, b *batch) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.left--
	complete := b.left == 0 && b.answers > 0
	b.mu.Unlock()
	if complete {
		c.send(from, append(b.text, "]\n"...), framing.Batch, b.answers)
	}
}

// scratch is the memory in which a message is composed.
type scratch struct {
	message framing.Message
	value   []byte // params, a result or an error object
	frame   []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// release gives s back. The frames that it has made are void then.
func (s *scratch) release() {
	s.message = framing.Message{}
	if cap(s.value) > keepBuffer {
		s.value = nil
	}
	if cap(s.frame) > keepBuffer {
		s.frame = nil
	}
	scratches.Put(s)
}

// raw returns v as JSON, nil for nil. It is valid until the next raw.
func (s *scratch) raw(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) == 0 {
			return nil, nil
		}
		return v, nil
	}
	text, err := framing.AppendEncode(s.value[:0], v)
	if err != nil {
		return nil, err
	}
	s.value = text
	return text[:len(text)-1], nil
}

// encode returns s.message as a frame, valid until the next encode.
func (s *scratch) encode() ([]byte, error) {
	frame, err := framing.AppendEncode(s.frame[:0], &s.message)
	if err == nil {
		s.frame = frame
	}
	return frame, err
}

// response returns the frame that answers the request id of method with what its handler has returned. What cannot be
// encoded becomes an internal error: somebody waits for this id.
func (s *scratch) response(id json.RawMessage, result any, err error, method string) []byte {
	if err == nil {
		var frame []byte
		if frame, err = s.success(id, result); err == nil {
			return frame
		}
	}
	return s.refusal(id, asError(err, method))
}

func (s *scratch) success(id json.RawMessage, result any) ([]byte, error) {
	raw, err := s.raw(result)
	if err != nil {
		return nil, err
	}
	if _, asIs := result.(json.RawMessage); raw == nil || !asIs && string(raw) == "null" {
		raw = json.RawMessage("{}") // an MCP result is an object; some clients drop a response with null and wait for ever
	}
	s.message = framing.Message{Kind: framing.Response, ID: id, Result: raw}
	return s.encode()
}

// refusal returns the frame that answers id, or null, with e.
func (s *scratch) refusal(id json.RawMessage, e *Error) []byte {
	frame, err := s.failure(id, e)
	if err != nil {
		frame, _ = s.failure(id, internalError(err)) // e.Data could not be encoded; this can
	}
	return frame
}

func (s *scratch) failure(id json.RawMessage, e *Error) ([]byte, error) {
	raw, err := s.raw(e)
	if err != nil {
		return nil, err
	}
	s.message = framing.Message{Kind: framing.Response, ID: id, ErrorObject: raw}
	return s.encode()
}
