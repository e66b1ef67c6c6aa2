package link

import (
	"bytes"
	"encoding/json"
	"errors"

	"example.com/mcp/framing"
)

// JSON-RPC 2.0 section 5.1.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeInternalError  = -32603
)

// answerTo returns what the sender of m is told, or nil. m is Malformed, Invalid or a Batch. An answer is never answered,
// nor is what may have been one.
func answerTo(m framing.Message) *framing.Message {
	isAnswer := isAnswer(m)
	switch {
	case m.Kind == framing.Malformed && errors.Is(m.Err, framing.ErrTooLong):
		return answerTooLong(m, isAnswer)
	case m.Kind == framing.Malformed:
		return errorReply(nil, codeParseError, m.Err)
	case m.Kind == framing.Batch: // gone since MCP 2025-06-18
		return errorReply(nil, codeInvalidRequest, errors.New("batches are not supported"))
	case isAnswer:
		return nil
	}
	return errorReply(m.ID, codeInvalidRequest, m.Err)
}

// isAnswer reports whether m, a bad line, was meant to be an answer.
func isAnswer(m framing.Message) bool {
	return m.Method == "" && (m.Result != nil || m.ErrorObject != nil)
}

// isBare reports whether m is an object without a method, result and error, as a TypeScript server writes for undefined.
func isBare(m framing.Message) bool {
	var members struct{ Method json.RawMessage }
	return m.Kind == framing.Invalid && !isAnswer(m) && json.Unmarshal(m.Line, &members) == nil && members.Method == nil
}

// idAtFault reports whether m would be a response with another number for an id: package framing judges the id last.
func idAtFault(m framing.Message) bool {
	var e *framing.LineError
	return m.Kind == framing.Invalid && errors.As(m.Err, &e) && bytes.HasPrefix(m.Line[e.Offset:], m.ID)
}

// answerTooLong is answerTo for an over-long line, of which only the id, the method and the presence of the others are known.
func answerTooLong(m framing.Message, isAnswer bool) *framing.Message {
	switch {
	case m.Method != "" && m.ID != nil:
		return errorReply(m.ID, codeInvalidRequest, m.Err)
	case m.Method != "" || isAnswer:
		return nil
	}
	return errorReply(nil, codeParseError, m.Err)
}

// errorReply returns the error response under id, or under null if that is nil.
func errorReply(id json.RawMessage, code int, err error) *framing.Message {
	object, _ := framing.Encode(struct { // cannot fail
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, err.Error()})
	return &framing.Message{Kind: framing.Response, ID: id, ErrorObject: object[:len(object)-1]}
}
