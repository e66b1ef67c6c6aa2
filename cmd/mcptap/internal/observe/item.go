package observe

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.com/mcp/framing"
)

// maxName is the longest id or method kept as it is, in bytes; of a longer
// one the beginning and a hash stay, so that it can still be told apart.
const maxName = 128

// itemOf returns what pairing and records need of m, in memory of its own: an
// entry must not keep a large line alive.
func itemOf(m framing.Message) Item {
	it := Item{Kind: m.Kind.String(), ID: shortID(m.ID), Method: shortName(m.Method)}
	switch m.Kind {
	case framing.Response:
		it.Code = errorCode(m.ErrorObject)
	case framing.Notification:
		it.Cancels = shortID(cancelled(m))
	case framing.Malformed, framing.Invalid:
		it.As = meant(m)
		it.Code = errorCode(m.ErrorObject)
	}
	return it
}

// meant returns what a bad line was meant to be, or "". An over-long line has
// only its id and method: an id alone is then an answer's.
func meant(m framing.Message) string {
	tooLong := errors.Is(m.Err, framing.ErrTooLong)
	switch {
	case m.Method != "" && m.ID != nil:
		return "request"
	case m.Method != "":
		return "notification"
	case m.Result != nil, m.ErrorObject != nil, tooLong && m.ID != nil:
		return "response"
	}
	return ""
}

// errorCode returns the code of an error object, "" if there is none.
func errorCode(object json.RawMessage) json.Number {
	var e struct{ Code json.Number }
	if object == nil || json.Unmarshal(object, &e) != nil {
		return ""
	}
	return e.Code
}

// cancelled returns the id of the request that m cancels, nil if it cancels
// none (MCP 2026-07-28 cancellation; LSP's name for it is in use as well).
func cancelled(m framing.Message) json.RawMessage {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
		ID        json.RawMessage `json:"id"`
	}
	if m.Method != "notifications/cancelled" && m.Method != "$/cancelRequest" {
		return nil
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return nil
	}
	id := params.RequestID
	if m.Method == "$/cancelRequest" {
		id = params.ID
	}
	if len(id) == 0 || strings.IndexByte(`"-0123456789`, id[0]) < 0 { // no id, and perhaps a value that must not show
		return nil
	}
	return id
}

func shortID(id json.RawMessage) json.RawMessage {
	if len(id) <= maxName {
		return bytes.Clone(id)
	}
	return json.RawMessage(fmt.Sprintf(`"%s... (%d bytes, sha256 %x)"`, alnum(id), len(id), sum(id)))
}

func shortName(name string) string {
	if len(name) <= maxName {
		return string([]byte(name))
	}
	return fmt.Sprintf("%s... (%d bytes, sha256 %x)", alnum([]byte(name)), len(name), sum([]byte(name)))
}

// alnum returns the letters and digits among the first bytes of b: they may
// stand between the quotes of a JSON string.
func alnum(b []byte) []byte {
	var out []byte
	for _, c := range b[:min(len(b), 24)] {
		if '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			out = append(out, c)
		}
	}
	return out
}

func sum(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:6]
}
