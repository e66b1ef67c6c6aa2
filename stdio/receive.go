package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"example.com/mcp/framing"
)

// maxBadRow is the number of bad lines in a row that are answered.
const maxBadRow = 100

// readLoop handles what comes until the stream ends, or Run does, or its turn has passed to another goroutine. It waits for
// a handler no longer than patience, and for a write only beyond maxUnsentReplies.
func (c *Conn) readLoop() {
	for t := c.newTurn(); t.here; {
		m, err := c.reader.ReadMessage()
		if err == nil && c.count(&m) {
			t.handle(&m)
			continue
		}
		if err == io.EOF {
			err = nil
		}
		c.read <- err
		return
	}
}

// handle handles a line and reports whether that has left a request to be run by this goroutine.
func (c *Conn) handle(m *framing.Message) (lone bool) {
	if m.Kind == framing.Batch && c.opt.Batches {
		c.receiveBatch(m)
		return false
	}
	return c.receive(m, nil)
}

// count counts a line and reports whether it is to be handled: after the end it is neither.
func (c *Conn) count(m *framing.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.stats.count(m)
		if m.Kind == framing.Request {
			c.stats.owed++ // at the same moment, so that what the end leaves unanswered adds up
		}
	}
	return !c.ended
}

// receive handles one message: a line, or an element of batch b. It reports whether that is a request to be run by this
// goroutine.
func (c *Conn) receive(m *framing.Message, b *batch) (lone bool) {
	switch m.Kind {
	case framing.Request:
		c.badRow = 0
		return c.request(m, b)
	case framing.Notification:
		c.badRow = 0
		c.notification(m)
	case framing.Response:
		c.badRow = 0
		c.response(m)
	default:
		c.badRow++
		c.bad(m, b)
	}
	return false
}

// receiveBatch handles the elements in order; their answers go out together (JSON-RPC 2.0 section 6).
func (c *Conn) receiveBatch(m *framing.Message) {
	b := &batch{left: 1}
	for e := range m.Batch() {
		c.receive(&e, b)
	}
	c.leave(theReadLoop, b)
}

// request takes a request in and reports whether it is ready to be run by this goroutine.
func (c *Conn) request(m *framing.Message, b *batch) (lone bool) {
	j := &job{
		Request: Request{ID: m.ID, Method: m.Method, Params: m.Params, Conn: c},
		ctx:     requestContext{parent: c.ctx},
		batch:   b,
		size:    len(m.Line),
		fence:   m.Method == "initialize", // the version that it settles rules what stands behind it
	}
	c.mu.Lock()
	if b != nil {
		c.stats.owed++
	}
	if c.ended { // since the line was counted, or a batch begun
		c.mu.Unlock()
		return false
	}
	_, twice := c.inHand[string(m.ID)]
	queued := !twice && c.queue.push(j)
	switch {
	case queued:
		c.inHand[string(m.ID)] = j
		b.join()
		if lone = c.isLone(b); lone {
			c.queue.grant()
		} else {
			c.startReady()
		}
	case !twice:
		c.stats.Refused++
	}
	c.mu.Unlock()
	switch {
	case twice:
		c.opt.Logger.Warn("request with an id that is in use", "id", string(m.ID), "method", m.Method)
		c.reply(m.ID, &Error{Code: CodeInvalidRequest, Message: "Invalid Request: this id is still in use"}, b)
	case !queued:
		c.opt.Logger.Warn("request refused, the queue is full", "method", m.Method)
		c.reply(m.ID, &Error{Code: codeBusy, Message: "Server busy: too many requests are waiting"}, b)
	}
	return lone
}

// isLone reports whether the request that has just been pushed is one for the read loop: nothing else is in hand, nothing
// has come behind it, and it is not the turn of the others. c.mu is held.
func (c *Conn) isLone(b *batch) bool {
	if b != nil || !c.in.lone || c.queue.running > 0 || c.queue.waiting.len() != 1 {
		return false
	}
	if c.others > 0 {
		c.others--
		return false
	}
	return true
}

func (c *Conn) notification(m *framing.Message) {
	switch m.Method {
	case "notifications/cancelled", "$/cancelRequest":
		c.cancelRequest(m)
		return
	}
	j := &job{
		Request: Request{Method: m.Method, Params: m.Params, Conn: c},
		ctx:     requestContext{parent: c.ctx},
		size:    len(m.Line),
		fence:   true,
	}
	c.mu.Lock()
	full := !c.ended && !c.queue.push(j)
	if full {
		c.stats.Dropped++
	} else {
		c.startReady()
	}
	c.mu.Unlock()
	if full {
		c.opt.Logger.Warn("notification dropped, the queue is full", "method", m.Method)
	}
}

// cancelRequest ends the request that m names, if it is in hand; one that is done or was never there is ignored, since the
// cancellation may have crossed the answer (MCP 2026-07-28 cancellation).
func (c *Conn) cancelRequest(m *framing.Message) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
		ID        json.RawMessage `json:"id"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	id := params.RequestID
	if m.Method == "$/cancelRequest" {
		id = params.ID
	}
	c.mu.Lock()
	j := c.inHand[string(id)]
	waited := false
	if j != nil && !j.cancelled {
		j.cancelled = true
		if waited = c.queue.remove(j); waited {
			c.forget(j)
		}
	}
	c.mu.Unlock()
	if j != nil {
		j.ctx.end()
	}
	if waited {
		c.leave(theReadLoop, j.batch)
	}
}

// bad reports a line that is no message and answers it if somebody can use the answer.
func (c *Conn) bad(m *framing.Message, b *batch) {
	c.report(m)
	response := isResponse(m)
	if response || c.isBare(m) {
		response = c.badResponse(m) || response
	}
	if c.opt.Quiet || c.badRow > maxBadRow {
		return
	}
	id, e := verdict(m, response)
	if e == nil {
		return
	}
	if b == nil {
		c.settle()
	}
	c.mu.Lock()
	c.stats.owed++
	c.mu.Unlock()
	c.reply(id, e, b)
}

// report tells OnBadLine and the log about m.
func (c *Conn) report(m *framing.Message) {
	if c.opt.Logger.Enabled(c.ctx, slog.LevelWarn) { // or a flood of them would cost more here than in the reader
		c.opt.Logger.Warn("bad line", "kind", m.Kind.String(), "bytes", len(m.Line), "err", m.Err)
	}
	if c.opt.OnBadLine != nil {
		c.opt.OnBadLine(*m)
	}
}

// maxSettle is how long a request may hold up the answer to a bad line behind it, once.
const maxSettle = 5 * time.Millisecond

// settle lets the requests before a bad line be answered first if they take no time, because an answer in the order of the
// lines is easier on who debugs. A request that takes longer than maxSettle is not waited for again, so that a slow one
// and a thousand bad lines cost maxSettle once.
func (c *Conn) settle() {
	c.mu.Lock()
	if c.queue.fresh == 0 {
		c.mu.Unlock()
		return
	}
	settled := make(chan struct{})
	c.settled = settled
	c.mu.Unlock()
	enough := time.NewTimer(maxSettle)
	defer enough.Stop()
	select {
	case <-settled:
	case <-enough.C:
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	c.settled = nil
	c.queue.age()
	c.mu.Unlock()
}

// signalSettled tells settle that it need not wait. c.mu is held.
func (c *Conn) signalSettled() {
	if c.settled != nil && c.queue.fresh == 0 {
		close(c.settled)
		c.settled = nil
	}
}

// verdict returns the answer to a bad line, or nil if it gets none: whoever sent a response or a notification does not wait.
func verdict(m *framing.Message, response bool) (json.RawMessage, *Error) {
	tooLong := errors.Is(m.Err, framing.ErrTooLong)
	switch {
	case response || tooLong && m.Method != "" && !isID(m.ID):
		return nil, nil
	case m.Kind == framing.Batch:
		return nil, &Error{Code: CodeInvalidRequest, Message: "Invalid Request: batches are not accepted"}
	case m.Kind == framing.Invalid:
		return m.ID, &Error{Code: CodeInvalidRequest, Message: "Invalid Request" + explain(m.Err)}
	case tooLong && m.Method != "":
		return m.ID, &Error{Code: CodeInvalidRequest, Message: "Invalid Request" + explain(m.Err)}
	}
	return nil, &Error{Code: CodeParseError, Message: "Parse error" + explain(m.Err)}
}

// explain returns what a LineError says beyond its class, for the end of a message.
func explain(err error) string {
	var e *framing.LineError
	if !errors.As(err, &e) {
		return ""
	}
	return ": " + strings.TrimPrefix(strings.TrimPrefix(e.Error(), e.Err.Error()), ": ")
}

// isID reports whether raw is an id that an answer can bear.
func isID(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

// isResponse reports whether a bad line was meant as a response: it has a result or an error, and no method. An answer to
// it would be taken for the answer to some request, or answered in turn.
func isResponse(m *framing.Message) bool {
	if m.Method != "" {
		return false
	}
	outcome := m.Result != nil || m.ErrorObject != nil
	if m.Kind == framing.Malformed {
		return outcome
	}
	// m says nothing of members of the wrong type, an error that is a string or a method that is a number.
	return (outcome || hasMember(m.Line, "error")) && !hasMember(m.Line, "method")
}

// isBare reports whether a bad line is an object with the id of a call of ours and nothing that says what it is: the
// response of a peer that leaves out what is null.
func (c *Conn) isBare(m *framing.Message) bool {
	if id, ok := callID(m.ID); m.Kind != framing.Invalid || m.Method != "" || !ok || !c.inFlight(id) {
		return false
	}
	return !hasMember(m.Line, "method")
}

// hasMember reports whether line is an object with that member. It goes through the tokens because Message.Value would
// build the whole of what a hostile peer sent, at ten times its size.
func hasMember(line []byte, name string) bool {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		t, err := d.Token()
		if err != nil || t == name {
			return err == nil
		}
		if d.Decode(new(skipped)) != nil {
			return false
		}
	}
	return false
}

// skipped is a value that nobody looks at.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }
