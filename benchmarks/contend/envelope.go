package contend

import (
	"encoding/json"
	"unicode/utf8"

	"example.com/mcp/framing"
)

// envelope is the struct that a Go program unmarshals a JSON-RPC message into.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// unmarshal sets m to the message on line. e is used again for each line, which
// saves the contender an allocation; the values in it are new each time.
func (e *envelope) unmarshal(unmarshalLine func([]byte, any) error, line []byte, m *framing.Message) {
	*e = envelope{}
	if !utf8.Valid(line) || unmarshalLine(line, e) != nil {
		*m = framing.Message{Kind: framing.Malformed}
		return
	}
	e.message(m)
}

// message sets m to what the envelope says. It judges less than framing does:
// the error object, the type of params and repeated members are not looked at.
func (e *envelope) message(m *framing.Message) {
	*m = framing.Message{Kind: e.kind(), ID: e.ID, Method: e.Method, Params: e.Params, Result: e.Result, ErrorObject: e.Error}
}

func (e *envelope) kind() framing.Kind {
	isID := len(e.ID) > 0 && (e.ID[0] == '"' || e.ID[0] == '-' || e.ID[0]-'0' <= 9)
	switch {
	case e.JSONRPC != "2.0":
	case e.Method != "" && e.Result == nil && e.Error == nil:
		if isID {
			return framing.Request
		}
		if e.ID == nil {
			return framing.Notification
		}
	case e.Method == "" && isID && (e.Result == nil) != (e.Error == nil):
		return framing.Response
	}
	return framing.Invalid
}
