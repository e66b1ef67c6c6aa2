package observe

import (
	"fmt"
	"slices"
	"strings"
)

// Code names a sort of finding.
type Code string

// The sorts of findings. A line's own fault leads to one of the first group.
const (
	LSPFraming     Code = "lsp-framing"
	UTF16          Code = "utf-16"
	TwoMessages    Code = "two-messages"
	Text           Code = "text"
	BOM            Code = "bom"
	InvalidUTF8    Code = "invalid-utf-8"
	TooLong        Code = "too-long"
	BadJSON        Code = "bad-json"
	NotJSONRPC     Code = "not-json-rpc"
	RepeatedMember Code = "repeated-member"

	ServerEnded   Code = "server-ended"
	Broken        Code = "broken-message"
	IDType        Code = "id-type-changed"
	IDRounded     Code = "id-rounded"
	NeverAnswered Code = "never-answered"
	NotFlushed    Code = "not-flushed"
	AnsweredTwice Code = "answered-twice"
	Unasked       Code = "unasked-answer"
	NoteAnswered  Code = "notification-answered"
	NotRead       Code = "message-refused"
	IDReused      Code = "id-reused"
	CaseVariant   Code = "case-variant"
	Unterminated  Code = "unterminated"
	AfterCancel   Code = "answered-after-cancel"
	Unseen        Code = "unseen"
)

// rule is what is said about a sort of finding. In its texts {writer} stands
// for who wrote the line, {reader} for the other side, and {stream} for the
// stream between them.
type rule struct {
	code          Code
	title, advice string
	pairs         bool // needs both directions: not judged in a plain file
}

// rules has every sort of finding, most serious first.
var rules = []rule{
	{ServerEnded, "The server ended while requests were open",
		"Look at its last lines on stderr and at the request it was working on; an exception must become an error response, not an exit.", true},
	{LSPFraming, "The {writer} frames its messages as LSP does",
		"MCP's stdio transport has no headers: write each message as one line of JSON and a newline, without Content-Length.", false},
	{UTF16, "The {writer} writes UTF-16",
		"The transport is UTF-8: set the stream's encoding (PowerShell: [Console]::OutputEncoding; .NET: new UTF8Encoding(false)).", false},
	{Broken, "The {writer} breaks a message over several lines",
		"Serialise compactly, without indentation, and escape newlines in strings: one message is one line.", false},
	{TwoMessages, "The {writer} puts two messages on one line",
		"Write a newline after every message, in the same write, and let no other thread write in between.", false},
	{Text, "The {writer} writes text on {stream}",
		"It is for messages alone: print to stderr instead (console.error, print(..., file=sys.stderr), a logger on stderr). Until then mcptap -clean keeps a server's text from the client.", false},
	{BOM, "The {writer} writes a byte order mark",
		"Write UTF-8 without a BOM (.NET: new UTF8Encoding(false)).", false},
	{InvalidUTF8, "The {writer} writes bytes that are not UTF-8",
		"Encode as UTF-8 and do not cut strings in the middle of a character (Windows: do not use the code page's encoding).", false},
	{TooLong, "The {writer} writes a line longer than the limit",
		"Send less at once (pages, a resource link), or raise -max-line if both sides can take it.", false},
	{BadJSON, "The {writer} writes broken JSON",
		"Use a JSON encoder rather than putting strings together, and one writer: two threads that write at once cut each other's messages.", false},
	{NotJSONRPC, "The {writer} writes JSON that is no JSON-RPC 2.0 message",
		"Every message has \"jsonrpc\":\"2.0\" and is a request (method, id), a notification (method) or a response (id, and result or error). Structured logs belong on stderr.", false},
	{RepeatedMember, "The {writer} repeats a member of the envelope",
		"Write each of jsonrpc, id, method, params, result and error once: two readers may see two different messages.", false},
	{IDType, "The {writer} answers with the id's type changed",
		"Give the id back as it came: 7 and \"7\" are different ids.", true},
	{IDRounded, "The {writer} answers with another number than the id it was sent",
		"Keep ids as the bytes that came, or as 64-bit integers: a double is exact only up to 2^53.", true},
	{NeverAnswered, "The {reader} never answered a request",
		"Every request gets a result or an error, also when its handler fails or its method is unknown.", true},
	{NotFlushed, "The {writer} wrote nothing before its stdin had ended",
		"Flush stdout after every message (print(..., flush=True), PYTHONUNBUFFERED=1, fflush): what is written to a pipe waits in a buffer.", true},
	{AnsweredTwice, "The {writer} answers a request twice",
		"Send one response for each request; look for an error path that falls through to the normal one.", true},
	{Unasked, "The {writer} answers a request that nobody made",
		"Give back the id of the request that is answered, and send nothing else with a result or an error.", true},
	{NoteAnswered, "The {writer} answers a notification",
		"A message without an id gets no response, not even an error.", true},
	{NotRead, "The {writer} could not read a message",
		"Its error response has no id, so nobody learns which request failed: look at what the {reader} had just written.", true},
	{IDReused, "The {writer} reuses an id that is still in flight",
		"Count ids up: the answers to the two requests cannot be told apart.", true},
	{CaseVariant, "The {writer} writes a member name in the wrong case",
		"Names are compared exactly: write jsonrpc, id, method, params, result, error. Some readers ignore the other spelling, some do not.", false},
	{Unterminated, "The {writer}'s last bytes had no newline after them",
		"End every message with a newline, and flush before exiting: a reader waits for the newline.", false},
	{AfterCancel, "The {writer} answers a request after it was cancelled",
		"A cancelled request is not answered. A few milliseconds are no fault: the two may have crossed on the way.", true},
	{Unseen, "mcptap could not keep up and did not see everything",
		"The traffic itself was not touched, but counts and findings are incomplete. A faster disk for -log and -capture helps, or doing without them.", false},
}

// maxOccurrences is how many occurrences of a finding are kept with their
// texts; all are counted.
const maxOccurrences = 5

// Finding is one thing that was wrong, with all its occurrences in one
// direction.
type Finding struct {
	Code        Code         `json:"code"`
	Dir         Dir          `json:"dir,omitzero"` // where the line at fault was
	Title       string       `json:"title"`
	Advice      string       `json:"advice"`
	Count       int          `json:"count"`
	Occurrences []Occurrence `json:"occurrences"` // the first ones
}

// Occurrence is one place of a finding.
type Occurrence struct {
	Line int    `json:"line,omitempty"` // 0: not at a line
	Text string `json:"text"`
}

// findings collects occurrences by sort and direction.
type findings map[findingKey]*Finding

type findingKey struct {
	code Code
	dir  Dir
}

// add takes an occurrence; in a file of which nobody knows who wrote it, what
// needs two directions is not judged.
func (fs findings) add(code Code, dir Dir, line int, format string, args ...any) {
	r := ruleOf(code)
	if r.pairs && dir == Unknown {
		return
	}
	code = r.code
	f := fs[findingKey{code, dir}]
	if f == nil {
		f = &Finding{Code: code, Dir: dir, Title: r.fill(r.title, dir), Advice: r.fill(r.advice, dir)}
		fs[findingKey{code, dir}] = f
	}
	f.Count++
	if len(f.Occurrences) < maxOccurrences {
		f.Occurrences = append(f.Occurrences, Occurrence{line, fmt.Sprintf(format, args...)})
	}
}

// ruleOf returns the rule of code. A log may hold a code that is not ours:
// that passes for broken JSON.
func ruleOf(code Code) rule {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.code == code })
	if i < 0 {
		return ruleOf(BadJSON)
	}
	return rules[i]
}

func (rule) fill(text string, dir Dir) string {
	reader, stream := dir.Back().Writer(), "stdout"
	switch dir {
	case Unknown:
		reader, stream = "reader", "the stream"
	case ToServer:
		stream = "the server's stdin"
	}
	return strings.NewReplacer("{writer}", dir.Writer(), "{reader}", reader, "{stream}", stream).Replace(text)
}

// clone returns a copy that add does not change.
func (fs findings) clone() findings {
	out := make(findings, len(fs))
	for key, f := range fs {
		c := *f
		c.Occurrences = slices.Clone(f.Occurrences)
		out[key] = &c
	}
	return out
}

// sorted returns the findings, most serious first.
func (fs findings) sorted() []Finding {
	var out []Finding
	for _, r := range rules {
		for _, dir := range []Dir{Unknown, ToClient, ToServer} {
			if f := fs[findingKey{r.code, dir}]; f != nil {
				out = append(out, *f)
			}
		}
	}
	return out
}
