package link

import (
	"encoding/json"
	"errors"

	"example.com/mcp/framing"
)

// JSON-RPC 2.0 section 5.1.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
)

var null = json.RawMessage("null")

// A reply is an error response. It is no framing.Message, which would refuse the id that makes a request Invalid, such as 1.5.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// answerTo returns what the sender of m is told, or nil. m is Malformed, Invalid or a Batch. An answer is never answered,
// nor is what may have been one.
func answerTo(m framing.Message) *reply {
	isAnswer := m.Method == "" && (m.Result != nil || m.ErrorObject != nil)
	switch {
	case m.Kind == framing.Malformed && errors.Is(m.Err, framing.ErrTooLong):
		return answerTooLong(m, isAnswer)
	case m.Kind == framing.Malformed:
		return errorReply(null, codeParseError, m.Err)
	case m.Kind == framing.Batch: // gone since MCP 2025-06-18
		return errorReply(null, codeInvalidRequest, errors.New("batches are not supported"))
	case isAnswer:
		return nil
	}
	return errorReply(m.ID, codeInvalidRequest, m.Err)
}

// answerTooLong is answerTo for an over-long line, of which only the id, the method and the presence of the others are known.
func answerTooLong(m framing.Message, isAnswer bool) *reply {
	switch {
	case m.Method != "" && m.ID != nil:
		return errorReply(m.ID, codeInvalidRequest, m.Err)
	case m.Method != "" || isAnswer:
		return nil
	}
	return errorReply(null, codeParseError, m.Err)
}

// errorReply returns the error response under id, or under null if there is none.
func errorReply(id json.RawMessage, code int, err error) *reply {
	if id == nil {
		id = null
	}
	r := &reply{JSONRPC: "2.0", ID: id}
	r.Error.Code, r.Error.Message = code, err.Error()
	return r
}
