package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// The error codes of JSON-RPC 2.0 section 5.1.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// codeBusy answers a request that finds the queue full; JSON-RPC 2.0 section 5.1 leaves -32000 to -32099 to servers.
const codeBusy = -32000

var (
	// ErrMethodNotFound, returned by a Handler, answers -32601. A *Error with that code is one.
	ErrMethodNotFound = errors.New("stdio: method not found")
	// ErrInvalidParams, returned by a Handler, answers -32602. A *Error with that code is one.
	ErrInvalidParams = errors.New("stdio: invalid params")
	// ErrClosed is what Call and Notify get when the connection has ended or broken, or does before they are done.
	ErrClosed = errors.New("stdio: connection closed")
)

// Error is the error object of a response (JSON-RPC 2.0 section 5.1): returned by a Handler it is sent as it is, and
// [Conn.Call] returns the one that came. It is a value and may be shared when it no longer changes.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"` // of a received error a json.RawMessage, or nil
}

// Error returns the message and the code, and the data if it is short.
func (e *Error) Error() string {
	if raw, ok := e.Data.(json.RawMessage); ok && len(raw) <= 512 {
		return fmt.Sprintf("%s (code %d, data %s)", e.Message, e.Code, raw)
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Is reports whether target is the sentinel of e's code: [ErrMethodNotFound] or [ErrInvalidParams].
func (e *Error) Is(target error) bool {
	return e != nil && (target == ErrMethodNotFound && e.Code == CodeMethodNotFound ||
		target == ErrInvalidParams && e.Code == CodeInvalidParams)
}

// exception is the data of a -32603: enough to find the fault on the server's side.
type exception struct {
	Type string `json:"exception"`
	Text string `json:"message"`
}

// panicked is a handler's panic, or its runtime.Goexit, as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return textOf(p.value) }

// asError returns the error object that answers err, which came from the handler of method.
func asError(err error, method string) *Error {
	if e := (*Error)(nil); errors.As(err, &e) && e != nil {
		return e
	}
	switch {
	case errors.Is(err, ErrMethodNotFound):
		return &Error{Code: CodeMethodNotFound, Message: "Method not found: " + method}
	case errors.Is(err, ErrInvalidParams):
		return &Error{Code: CodeInvalidParams, Message: reason("Invalid params", err, ErrInvalidParams)}
	}
	return internalError(err)
}

// internalError returns the -32603 for err.
func internalError(err error) *Error {
	var v any = err
	if p, ok := err.(*panicked); ok {
		v = p.value
	}
	return &Error{CodeInternalError, "Internal error", exception{fmt.Sprintf("%T", v), textOf(v)}}
}

// textOf returns v, an error or what a handler has panicked with, as text. It is made by fmt, which survives an Error method
// that panics. But fmt would follow a map that holds itself until the stack is full, and nothing survives that: of values
// with parts only the type is told.
func textOf(v any) string {
	switch v.(type) {
	case error, fmt.Stringer:
		return fmt.Sprint(v)
	}
	switch reflect.TypeOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer:
		return fmt.Sprintf("a %T", v)
	}
	return fmt.Sprint(v)
}

// reason returns text and what err says beyond its class.
func reason(text string, err, class error) string {
	detail := err.Error()
	for _, prefix := range []string{class.Error(), ": "} {
		if len(detail) >= len(prefix) && detail[:len(prefix)] == prefix {
			detail = detail[len(prefix):]
		}
	}
	if detail == "" {
		return text
	}
	return text + ": " + detail
}

// received returns the *Error of a response's error object.
func received(raw json.RawMessage) error {
	var members map[string]json.RawMessage // and no struct, which would take "Code" for "code"
	err := json.Unmarshal(raw, &members)
	e := &Error{}
	// Only a code beyond an int can fail here: the reader has checked the object.
	if err = errors.Join(err, json.Unmarshal(members["code"], &e.Code), json.Unmarshal(members["message"], &e.Message)); err != nil {
		return fmt.Errorf("stdio: error object of a response: %w", err)
	}
	if data := members["data"]; data != nil {
		e.Data = data
	}
	return e
}

// closedBy returns an ErrClosed that says why; end is nil for the plain end of the stream.
func closedBy(end error) error {
	if end == nil || errors.Is(end, ErrClosed) || errors.Is(end, context.Canceled) {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, end)
}
