// Package link puts framing between two byte streams and an SDK that would do worse on them.
//
// The SDK gets good messages only: a bad line costs that line, is reported, and is answered where JSON-RPC wants an answer.
// What the SDK writes goes out as frames. An answer has the id of its request, byte for byte, and the end of the input is told
// only when the requests read before it are answered.
package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"example.com/mcp/framing"
)

// Options are the settings of a Link. The zero value is a server's.
type Options struct {
	// MaxLine is the longest line accepted, in bytes, as in framing.Reader. 0: 64 MiB; less: no limit.
	MaxLine int
	// OnBadLine is called for each line that the SDK does not get to see, in order: one that is not JSON or not JSON-RPC, a
	// batch, a request whose id is still in hand, an error response under id null. The last three have no Err. No line is read
	// until it returns: it must not wait for the SDK.
	OnBadLine func(framing.Message)
	// Quiet is for a client: bad lines are not answered, and the end of the input is told at once.
	Quiet bool
	// DrainTimeout is how long the end of the input is held back for the answers to the requests read before it. 0: 5 s.
	DrainTimeout time.Duration
}

const (
	// maxAnswers is how many bad lines in a row are answered. Two peers that answer each other's answers would never stop.
	maxAnswers = 100
	// maxWaiting is how many answers to bad lines wait for a peer that does not read. Further ones are dropped: if they
	// held up the reading instead, a peer that writes everything before it reads would wait for ever.
	maxWaiting = 1000
)

// A Link is one connection. Next is for one goroutine; Write and Close may be called at any time by any.
type Link struct {
	opts Options
	in   *framing.Reader
	out  *framing.Writer
	raw  io.Writer // under out
	bad  int       // lines rejected since the last good one; used by Next alone

	writeMu sync.Mutex         // held while the output blocks; never taken by Next
	written framing.LineReader // cuts what the SDK writes into messages

	mu       sync.Mutex
	inHand   map[string]json.RawMessage // ids of the requests handed on and not answered yet, by their key
	unsent   int                        // answers to them that are on their way
	calls    map[string]struct{}        // keys of the ids of the SDK's own requests that are not answered yet
	replies  []*framing.Message         // to bad lines, not on their way yet
	replying bool                       // a goroutine sends the replies
	idle     chan struct{}              // if not nil: to be closed when nothing of all this is left

	closed    chan struct{}
	closeOnce sync.Once
}

// New returns a Link that reads from in and writes to out.
func New(in io.Reader, out io.Writer, opts Options) *Link {
	l := &Link{opts: opts, in: framing.NewReader(in), out: framing.NewWriter(out), raw: out}
	l.in.MaxLine = opts.MaxLine
	l.written.MaxLine = -1
	l.inHand = map[string]json.RawMessage{}
	l.calls = map[string]struct{}{}
	l.closed = make(chan struct{})
	return l
}

// Next returns the next Request, Notification or Response for the SDK, or the error that ended the input: io.EOF at its
// orderly end, and then only once the requests in hand are answered. A response that cannot be used comes as an error under
// the id of its call, for which the SDK would wait for ever.
func (l *Link) Next() (framing.Message, error) {
	for {
		m, err := l.in.ReadMessage()
		if err != nil {
			l.drain()
			return m, err
		}
		answer, ok := l.admit(&m)
		if ok {
			l.bad = 0
			return m, nil
		}
		response, ok := l.salvage(m)
		if ok {
			answer = nil
		}
		l.reject(m, answer)
		if ok {
			return response, nil
		}
	}
}

// admit prepares m for the SDK, or reports false and the answer that its sender gets, if any.
func (l *Link) admit(m *framing.Message) (answer *framing.Message, ok bool) {
	switch m.Kind {
	case framing.Request:
		hidden, changed := hideID(m.ID)
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, ok := l.inHand[idKey(hidden)]; ok {
			return errorReply(m.ID, codeInvalidRequest, errors.New("a request with this id is in hand")), false
		}
		l.inHand[idKey(hidden)] = bytes.Clone(m.ID) // a slow request must not keep the block that it came in
		if changed {
			m.ID, m.Line = hidden, nil
		}
		return nil, true
	case framing.Notification:
		l.cancelled(m)
		return nil, true
	case framing.Response:
		if id, ok := l.settleCall(m.ID); ok && !bytes.Equal(id, m.ID) {
			m.ID, m.Line = id, nil
		}
		// JSON-RPC 2.0 section 5: id null says that the peer could not read one of our lines, not which.
		return nil, m.ID != nil && string(m.ID) != "null"
	}
	return answerTo(*m), false
}

// cancelled takes the request that m cancels off the list, if m is a cancellation: it may stay unanswered.
func (l *Link) cancelled(m *framing.Message) {
	id := cancelledID(*m)
	if id == nil {
		return
	}
	hidden, changed := hideID(id)
	if changed {
		var params map[string]json.RawMessage
		json.Unmarshal(m.Params, &params)
		params["requestId"] = hidden
		m.Params, _ = json.Marshal(params)
		m.Line = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inHand, idKey(hidden))
}

// cancelledID returns the id of the request that m cancels, or nil if it is no cancellation.
func cancelledID(m framing.Message) json.RawMessage {
	var params map[string]json.RawMessage
	if m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &params) != nil {
		return nil
	}
	return params["requestId"]
}

// salvage returns the answer that m, a bad line, was meant to be, if it has the id of a call: if a number like 1.0 for the id is
// its only fault, the one it would be without; else an error.
func (l *Link) salvage(m framing.Message) (framing.Message, bool) {
	if m.Kind > framing.Invalid || m.ID == nil || !isAnswer(m) && !isBare(m) {
		return m, false
	}
	id, ok := l.settleCall(m.ID)
	if !ok {
		return m, false
	}
	if idAtFault(m) {
		return framing.Message{Kind: framing.Response, ID: id, Result: m.Result, ErrorObject: m.ErrorObject}, true
	}
	return *errorReply(id, codeInternalError, fmt.Errorf("unusable response: %w", m.Err)), true
}

// settleCall takes the call that is answered under id off the list, and returns its id as the SDK wrote it.
func (l *Link) settleCall(id json.RawMessage) (json.RawMessage, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range []json.RawMessage{id, callID(id)} {
		if _, ok := l.calls[idKey(id)]; ok {
			delete(l.calls, idKey(id))
			return id, true
		}
	}
	return nil, false
}

// reject reports m and has answer sent, if there is one and it is wanted. It does not wait for the peer to read it.
func (l *Link) reject(m framing.Message, answer *framing.Message) {
	l.bad++
	if l.opts.OnBadLine != nil {
		l.opts.OnBadLine(m)
	}
	quiet := l.opts.Quiet && m.Kind != framing.Request
	if answer == nil || quiet || l.bad > maxAnswers {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.replies) == maxWaiting {
		return
	}
	l.replies = append(l.replies, answer)
	if !l.replying {
		l.replying = true
		go l.reply()
	}
}

// reply sends the replies and ends: no goroutine is left where nobody calls Close.
func (l *Link) reply() {
	for {
		l.mu.Lock()
		if len(l.replies) == 0 {
			l.replying = false
			l.checkIdle()
			l.mu.Unlock()
			return
		}
		next := l.replies[0]
		l.replies = l.replies[1:]
		l.mu.Unlock()
		_ = l.out.WriteMessage(next) // a broken output is the SDK's to see, at its next Write
	}
}

// drain waits until the requests in hand are answered. Both SDKs give up everything in hand when they see the end of their
// input, so that a peer which writes its requests, closes and reads would get no answers.
func (l *Link) drain() {
	if l.opts.Quiet {
		return
	}
	idle := make(chan struct{})
	l.mu.Lock()
	l.idle = idle
	l.checkIdle()
	l.mu.Unlock()
	timeout := l.opts.DrainTimeout
	if timeout == 0 {
		timeout = 5 * time.Second
	}
	select {
	case <-idle:
	case <-l.closed:
	case <-time.After(timeout):
	}
}

// checkIdle ends the wait of drain if there is nothing to wait for. mu is held.
func (l *Link) checkIdle() {
	if l.idle != nil && len(l.inHand) == 0 && l.unsent == 0 && !l.replying {
		close(l.idle)
		l.idle = nil
	}
}

// Write takes JSON lines from the SDK, cut anyhow, and writes each complete one as one frame. p is not kept.
func (l *Link) Write(p []byte) (int, error) {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	for _, m := range l.written.Feed(p) {
		if errors.Is(m.Err, framing.ErrInvalidUTF8) {
			m = repaired(m.Line)
		}
		if m.Kind == framing.Malformed {
			return 0, fmt.Errorf("link: the SDK wrote no JSON: %w", m.Err)
		}
		if err := l.send(m); err != nil {
			l.Close() // nobody is left to wait for the other answers
			return 0, err
		}
	}
	return len(p), nil
}

// repaired returns the message in line with U+FFFD for what is not UTF-8. The SDKs pass the raw JSON of a tool on as it is, and
// go-sdk ends the session when its transport refuses a message.
func repaired(line []byte) framing.Message {
	var lines framing.LineReader
	lines.MaxLine = -1
	lines.Feed(bytes.ToValidUTF8(line, []byte("\uFFFD")))
	m, _ := lines.Flush()
	return m
}

// send writes m, an answer under the id that its request had.
func (l *Link) send(m framing.Message) error {
	switch m.Kind {
	case framing.Request:
		l.mu.Lock()
		l.calls[idKey(m.ID)] = struct{}{}
		l.mu.Unlock()
	case framing.Notification:
		if id := cancelledID(m); id != nil {
			l.settleCall(id) // it may stay unanswered
		}
	case framing.Response:
		// The request is off the list before its answer is out: the peer may use the id again at once.
		id := l.settle(m.ID)
		defer l.sent()
		if !bytes.Equal(id, m.ID) {
			m.ID, m.Line = id, nil
		}
	}
	return l.out.WriteMessage(m)
}

// settle takes the request that the SDK answers under hidden off the list, and returns the id it came with.
func (l *Link) settle(hidden json.RawMessage) json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsent++
	key := idKey(hidden)
	if id, ok := l.inHand[key]; ok {
		delete(l.inHand, key)
		return id
	}
	if id, ok := showID(hidden); ok { // of a request that was cancelled
		return id
	}
	return hidden
}

// sent follows a settle.
func (l *Link) sent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsent--
	l.checkIdle()
}

// Close ends a wait for answers and closes the output if it can be closed. It may be called more than once.
func (l *Link) Close() (err error) {
	l.closeOnce.Do(func() {
		close(l.closed)
		if c, ok := l.raw.(io.Closer); ok {
			err = c.Close()
		}
	})
	return err
}
