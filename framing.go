// Package framing reads and writes the messages of the MCP stdio transport
// (Model Context Protocol 2026-07-28, transports, stdio): JSON-RPC 2.0, one
// message a line. It takes what real peers write, half lines and log lines
// included, returns every message in order, parsed once, and names what is
// wrong with the rest.
//
// # Rules
//
// A line ends at LF, and a CR right before it belongs to the terminator. Lines
// of nothing but spaces, tabs and CRs are skipped. A byte order mark at the
// very start of the stream is dropped. A line is good if it is one JSON text
// (RFC 8259, strictly) in valid UTF-8; a bad line costs that line alone. How
// the stream is cut into chunks makes no difference.
//
// A frame that is written is compact JSON in valid UTF-8 without any byte below
// 0x20 but the LF at its end. U+2028, U+2029 and U+0085 are escaped, because
// some peers split lines there; <, > and & are not.
//
// # Limits
//
// A line may have MaxLine bytes, 64 MiB by default, and nest 10,000 levels
// deep. Of a longer line the first 1024 bytes are kept, and the id and the
// method if they have up to 1024 bytes as they are written, the id with its
// quotes and the method without.
//
// # Ownership
//
// What a Message refers to belongs to the caller and is never written again by
// this package; chunks may be reused at once. The slices of a Message lie in
// its Line (but for the id of an over-long one), each with no capacity beyond
// its end. A short line lies in a block with its neighbours, so keeping one
// message keeps up to 64 KiB; a line that outgrows its block has a buffer of
// its own size.
//
// # Errors
//
// A bad line is a Message of Kind Malformed or Invalid whose Err is a
// [*LineError] with the offset and the reason, of one of the classes
// [ErrSyntax], [ErrInvalidUTF8], [ErrTooLong], [ErrInvalidMessage] and
// [io.ErrUnexpectedEOF]. An error of the stream is returned as it came.
//
// # Concurrency
//
// A [Writer] may be used by several goroutines at the same time, a [LineReader]
// and a [Reader] may not. Messages are independent values.
//
// # Not included
//
// Requests are not matched to responses, and nothing is answered: package stdio
// does that. Headers, HTTP and WebSockets have no place here.
package framing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"example.com/mcp/framing/internal/jsonscan"
)

// Kind says what a line is in JSON-RPC 2.0.
type Kind uint8

const (
	Malformed    Kind = iota // not one JSON text (the answer is -32700)
	Invalid                  // JSON, but not JSON-RPC 2.0 (the answer is -32600)
	Request                  // a method and an id
	Notification             // a method and no id
	Response                 // a result or an error
	Batch                    // a non-empty array
)

var kindNames = [...]string{"malformed", "invalid", "request", "notification", "response", "batch"}

// String returns the name of k in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Message is one line of the stream, or one that the caller composes for
// [Encode] by setting ID, Method, Params, Result and ErrorObject alone.
//
// Encode writes a message that has been read as its Line says, whatever has
// been done to its other fields: to change it, compose a new one of them.
type Message struct {
	Kind Kind

	// Line is the line without its "\n" or "\r\n", of an over-long one the
	// first 1024 bytes. It is nil in a composed message.
	Line []byte

	// ID is the "id" member byte for byte, so 9007199254740993 and "a\u0000b"
	// can be sent back as they came. It is nil if there is none or it is neither
	// a string nor a number, but null in a Response with "id":null.
	ID json.RawMessage

	// Method is the "method" member, unescaped.
	Method string

	// Params, Result and ErrorObject are the members of these names, nil if
	// absent; Params also where it is null. In an Invalid message each is set
	// that has the right type. Of an over-long line each is empty but not nil
	// where the line has such a member.
	Params      json.RawMessage
	Result      json.RawMessage
	ErrorObject json.RawMessage

	// Err is a *LineError if Kind is Malformed or Invalid, else nil.
	Err error
}

// Value returns the line as a dynamic language's JSON parser would: a
// map[string]any, []any, string, [json.Number], bool or nil. Numbers keep their
// text; of a repeated name the last value counts. For a Malformed message it
// returns map[string]any{"parse_error": line}, for a composed one that is not
// legal nil.
func (m Message) Value() any {
	text := m.Line
	switch {
	case text == nil:
		text, _ = m.MarshalJSON()
	case m.Kind == Malformed:
		return map[string]any{"parse_error": string(m.Line)}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// Batch returns an iterator over the elements of a Batch, each a Message of its
// own whose Line is the element. It yields nothing for any other Kind, and ends
// early where Line has been changed to what is no array.
func (m Message) Batch() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		if m.Kind != Batch {
			return
		}
		for element := range jsonscan.Elements(m.Line) {
			var e Message
			e.parse(element, len(element), nil, false)
			if e.Kind == Batch {
				e.refuse(0, "an array inside a batch") // JSON-RPC 2.0 section 6
			}
			if !yield(e) {
				return
			}
		}
	}
}

// MarshalJSON returns the line of a message that has been read, and
// {"parse_error": line} for a Malformed one. For one that the caller composed
// it returns the JSON-RPC object of its members. They have to make a legal one:
// a Method, with Params or without, or with an ID one of Result and ErrorObject.
// An ErrorObject without an ID gets "id":null.
func (m Message) MarshalJSON() ([]byte, error) {
	b, err := appendMessage(nil, &m)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// The classes of bad lines, for [errors.Is] on a message's Err. A rest at the
// end of the stream that breaks off inside a JSON text is of the class
// [io.ErrUnexpectedEOF].
var (
	ErrSyntax         = errors.New("framing: not a JSON text")
	ErrInvalidUTF8    = errors.New("framing: invalid UTF-8")
	ErrTooLong        = errors.New("framing: line too long")
	ErrInvalidMessage = errors.New("framing: not a JSON-RPC 2.0 message")
)

// LineError says what is wrong with a line.
type LineError struct {
	Offset int    // where the fault shows, in bytes from the start of the line; of an over-long one MaxLine, which may lie beyond Line
	Reason string // for the person who looks for the fault
	Err    error  // the class
}

// Error returns the class, the offset and the reason.
func (e *LineError) Error() string {
	return fmt.Sprintf("%v: byte %d: %s", e.Err, e.Offset, e.Reason)
}

// Unwrap returns the class.
func (e *LineError) Unwrap() error { return e.Err }

// parse sets m, which must be zero, to the message on the line text[:n], behind
// which a line end stands or nothing. Method names that are known are taken
// from there, if that is not nil. At the end of the stream a text may be broken
// off.
func (m *Message) parse(text []byte, n int, known *names, eof bool) {
	var d jsonscan.Doc
	m.Line = text[:n:n]
	if fault := jsonscan.Scan(text, n, &d); fault.Code != jsonscan.OK {
		m.Err = lineError(m.Line, fault, eof)
		return
	}
	switch {
	case d.Type == '{':
		m.setMembers(&d, known)
		m.judge(&d)
	case d.Type == '[' && !d.Empty:
		m.Kind = Batch
	case d.Type == '[':
		m.refuse(d.Start, "an empty array")
	default:
		m.refuse(d.Start, "a bare value, not an object")
	}
}

func lineError(line []byte, fault jsonscan.Fault, eof bool) *LineError {
	if fault.Code == jsonscan.Truncated && !eof {
		if at := jsonscan.InvalidAt(line); at >= 0 { // cut off, and nothing will complete it
			fault = jsonscan.Fault{Code: jsonscan.InvalidUTF8, Offset: at}
		}
	}
	e, whole := &LineError{Offset: fault.Offset, Err: ErrSyntax}, jsonscan.Line
	if eof {
		whole = jsonscan.LastLine
	}
	switch {
	case fault.Code == jsonscan.InvalidUTF8:
		e.Err = ErrInvalidUTF8
	case fault.Code == jsonscan.Truncated && eof:
		e.Err = io.ErrUnexpectedEOF
	}
	e.Reason = jsonscan.Explain(line, fault, whole)
	return e
}

// refuse makes m Invalid.
func (m *Message) refuse(at int, reason string) {
	m.Kind = Invalid
	m.Err = &LineError{Offset: at, Reason: reason, Err: ErrInvalidMessage}
}

// setMembers sets the members of m that have the right type.
func (m *Message) setMembers(d *jsonscan.Doc, known *names) {
	if v := m.raw(d, jsonscan.ID); v != nil && (v[0] == '"' || isNumber(v)) {
		m.ID = v
	}
	if v := m.raw(d, jsonscan.Method); v != nil && v[0] == '"' {
		m.Method = known.get(v)
	}
	if v := m.raw(d, jsonscan.Params); v != nil && isStructured(v) {
		m.Params = v
	}
	m.Result = m.raw(d, jsonscan.Result)
	if v := m.raw(d, jsonscan.Error); v != nil && v[0] == '{' {
		m.ErrorObject = v
	}
}

func (m *Message) raw(d *jsonscan.Doc, member jsonscan.Member) []byte {
	return d.Members[member].Of(m.Line)
}

// judge sets the Kind of an object.
func (m *Message) judge(d *jsonscan.Doc) {
	version := d.Members[jsonscan.JSONRPC]
	switch {
	case d.Repeated.End != 0: // two readers could see two messages
		m.refuse(d.Repeated.Start, "an envelope member comes twice")
	case version.End == 0:
		m.refuse(d.Start, `no "jsonrpc" member`)
	case !isVersion2(version.Of(m.Line)):
		m.refuse(version.Start, `"jsonrpc" is not "2.0"`)
	case d.Members[jsonscan.Method].End != 0:
		m.judgeCall(d)
	default:
		m.judgeResponse(d)
	}
}

// judgeCall judges an object with a method, JSON-RPC 2.0 section 4. Beyond
// that, MCP forbids the id null, and a fractional id cannot be told apart
// safely by its value.
func (m *Message) judgeCall(d *jsonscan.Doc) {
	method, id, params := d.Members[jsonscan.Method], d.Members[jsonscan.ID], d.Members[jsonscan.Params]
	switch {
	case m.Line[method.Start] != '"':
		m.refuse(method.Start, `"method" is not a string`)
	case d.Members[jsonscan.Result].End != 0:
		m.refuse(d.Members[jsonscan.Result].Start, `both "method" and "result"`)
	case d.Members[jsonscan.Error].End != 0:
		m.refuse(d.Members[jsonscan.Error].Start, `both "method" and "error"`)
	case id.End != 0 && !isID(m.ID):
		m.refuse(id.Start, `"id" is neither a string nor an integer`)
	case params.End != 0 && m.Params == nil && m.Line[params.Start] != 'n':
		m.refuse(params.Start, `"params" is neither an object nor an array`)
	case id.End != 0:
		m.Kind = Request
	default:
		m.Kind = Notification
	}
}

// judgeResponse judges an object without a method, JSON-RPC 2.0 section 5. An
// error may come without an id, as the MCP schema has it.
func (m *Message) judgeResponse(d *jsonscan.Doc) {
	id, failure := d.Members[jsonscan.ID], d.Members[jsonscan.Error]
	switch {
	case m.Result == nil && failure.End == 0:
		m.refuse(d.Start, `none of "method", "result" and "error"`)
	case m.Result != nil && failure.End != 0:
		m.refuse(failure.Start, `both "result" and "error"`)
	case failure.End != 0 && !isErrorObject(m.ErrorObject):
		m.refuse(failure.Start, `"error" is not an object with an integer "code" and a string "message"`)
	case isID(m.ID):
		m.Kind = Response
	case failure.End != 0 && (id.End == 0 || m.Line[id.Start] == 'n'):
		m.Kind, m.ID = Response, id.Of(m.Line)
	case id.End == 0:
		m.refuse(d.Start, `a "result" without an "id"`)
	default:
		m.refuse(id.Start, `"id" is neither a string nor an integer`)
	}
}

func isVersion2(raw []byte) bool {
	return string(raw) == `"2.0"` || raw[0] == '"' && jsonscan.Unquote(raw) == "2.0"
}

// isID reports whether raw, a JSON text, is an id: a string or an integer.
func isID(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '"' || isInteger(raw))
}

// isInteger reports whether raw, a JSON text, is a number that is written as an
// integer.
func isInteger(raw []byte) bool {
	for i, c := range raw {
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return len(raw) > 0
}

func isNumber(raw []byte) bool { return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9' }

func isStructured(raw []byte) bool { return raw[0] == '{' || raw[0] == '[' }

// isErrorObject reports whether raw, a JSON text, is an error object as in
// JSON-RPC 2.0 section 5.1. Of a repeated member the first counts.
func isErrorObject(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	var code, message []byte
	for name, value := range jsonscan.Fields(raw) {
		if code == nil && jsonscan.NameIs(name, "code") {
			code = value
		} else if message == nil && jsonscan.NameIs(name, "message") {
			message = value
		}
	}
	return isInteger(code) && message != nil && message[0] == '"'
}

// names keeps the texts of the methods seen lately, so that each message does
// not need a new string. It has a place for each hash and holds 4 KiB at most.
type names [64]string

const maxKnownName = 64

// get returns the text of a JSON string that Scan has passed.
func (n *names) get(quoted []byte) string {
	text := quoted[1 : len(quoted)-1]
	if n == nil || len(text) == 0 || len(text) > maxKnownName {
		return jsonscan.Unquote(quoted)
	}
	// These weights give MCP's thirty methods nearly all a place of their own.
	last := len(text) - 1
	hash := 2*len(text) + int(text[0]) + 2*int(text[len(text)/2]) + 12*int(text[last])
	place := &n[hash%len(n)]
	if *place != string(text) {
		if bytes.IndexByte(text, '\\') >= 0 {
			return jsonscan.Unquote(quoted)
		}
		*place = string(text)
	}
	return *place
}
