package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"example.com/mcp/framing"
)

var envelope = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// names is what the member names of a message's top level show.
type names struct {
	seen     [6]bool  // by the index in envelope
	repeated string   // the first envelope member that comes twice
	variants []string // names that differ from an envelope member in case only
}

// memberNames looks at the top level of m, which is more than m's fields
// tell: a reader that compares exactly passes over "Method", another one may
// not.
func memberNames(m framing.Message) names {
	var n names
	line := bytes.TrimLeft(m.Line, " \t\r")
	if m.Kind == framing.Malformed || m.Kind == framing.Batch || len(line) == 0 || line[0] != '{' {
		return n
	}
	eachName(line, n.add)
	return n
}

func (n *names) add(name string) {
	if i := slices.Index(envelope, name); i >= 0 {
		if n.seen[i] && n.repeated == "" {
			n.repeated = name
		}
		n.seen[i] = true
		return
	}
	same := func(s string) bool { return strings.EqualFold(s, name) }
	if slices.ContainsFunc(envelope, same) && !slices.Contains(n.variants, name) {
		n.variants = append(n.variants, name)
	}
}

// answers reports whether there is a result or an error, of whatever type.
func (n *names) answers() bool { return n.seen[4] || n.seen[5] }

// eachName calls f with each member name of object, a valid JSON object, in
// order; names longer than any of interest are passed over.
func eachName(object []byte, f func(string)) {
	depth, name := 0, false // name: the next string at depth 1 is one
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
			name = depth == 1
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		case '"':
			end := stringEnd(object, i)
			if name {
				callName(object[i:end], f)
				name = false
			}
			i = end - 1
		}
	}
}

func callName(quoted []byte, f func(string)) {
	const longest = len(`"\u006a\u0073\u006f\u006e\u0072\u0070\u0063"`) // all of jsonrpc escaped
	var name string
	if len(quoted) <= longest && json.Unmarshal(quoted, &name) == nil {
		f(name)
	}
}

// stringEnd returns the index behind the string that starts at i; b is valid
// JSON. A quote is the end if an even number of backslashes stands before it.
func stringEnd(b []byte, i int) int {
	for end := i + 1; ; end++ {
		q := bytes.IndexByte(b[end:], '"')
		if q < 0 {
			return len(b)
		}
		end += q
		slashes := 0
		for b[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
	}
}

// Meant reports whether m is a message, or was meant as one: a JSON object
// that names its jsonrpc version, or an answer with an id. Structured logs
// are neither. Of a line that is no JSON, say for a NaN or a byte that is not
// UTF-8, which some peers take, the beginning and that name decide; but the
// first piece of a message broken over several lines is nothing by itself.
func Meant(m framing.Message) bool {
	switch {
	case m.Err == nil:
		return true
	case m.Kind == framing.Malformed:
		return !errors.Is(m.Err, io.ErrUnexpectedEOF) && startsMessage(bytes.TrimLeft(m.Line, " \t\r")) && bytes.Contains(m.Line, []byte(`"jsonrpc"`))
	}
	return memberNames(m).seen[0] || meant(m) == "response" && m.ID != nil
}
