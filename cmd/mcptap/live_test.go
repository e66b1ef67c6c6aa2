package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// outcome is what a live session left behind.
type outcome struct {
	status         int
	stdout, stderr string
	summary        observe.Summary
	findings       []observe.Finding
}

// session runs a server with the script under mcptap, in this process, and
// sends it input.
func runSession(t *testing.T, steps []step, stdin io.Reader, change ...func(*config)) outcome {
	t.Helper()
	var out bytes.Buffer
	o := runTo(t, steps, stdin, &out, change...)
	o.stdout = out.String()
	return o
}

// runTo is runSession with a stdout of the caller's.
func runTo(t *testing.T, steps []step, stdin io.Reader, stdout io.Writer, change ...func(*config)) outcome {
	t.Helper()
	t.Setenv(envScript, encodeScript(append(steps, step{})))
	c := config{json: true, grace: 5 * time.Second, command: []string{os.Args[0]}}
	for _, f := range change {
		f(&c)
	}
	var errs bytes.Buffer
	o := outcome{status: live(c, streams{stdin, stdout, &errs})}
	o.stderr = errs.String()
	o.parse(t)
	return o
}

// counter counts what is written to it.
type counter struct {
	n, mark int64
	reached func()
}

// at has f called once n bytes are there.
func (c *counter) at(n int64, f func()) { c.mark, c.reached = n, f }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if c.reached != nil && c.n >= c.mark {
		c.reached()
		c.reached = nil
	}
	return len(p), nil
}

// parse reads the summary and the findings from stderr.
func (o *outcome) parse(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(o.stderr) {
		var head struct{ Event string }
		if json.Unmarshal([]byte(line), &head) != nil {
			continue // the server's own
		}
		var err error
		switch head.Event {
		case "finding":
			var f observe.Finding
			err = json.Unmarshal([]byte(line), &f)
			o.findings = append(o.findings, f)
		case "summary":
			err = json.Unmarshal([]byte(line), &o.summary)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	}
}

// found lists the findings: sort, direction, line and number of each.
func (o *outcome) found() (list []string) {
	for _, f := range o.findings {
		list = append(list, fmt.Sprintf("%s %s %d %d", f.Code, f.Dir, f.Occurrences[0].Line, f.Count))
	}
	return list
}

func request(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`+"\n", id, method)
}

func answer(id string) string { return fmt.Sprintf(pong, id) }

func note(method string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`+"\n", method) }

const cancel7 = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n"

const noID = `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"x"}}` + "\n"

var ping = request("7", "ping")

// TestFindings provokes each finding with a real server; the client's side is
// sent at once, and then its EOF.
func TestFindings(t *testing.T) {
	pretty := "{\n \"jsonrpc\": \"2.0\",\n \"id\": 7,\n \"result\": {}\n}\n"
	utf16 := func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" }
	tests := []struct {
		name, input string
		script      []step
		want        []string // sort, direction, line, number
		text        string   // in the first one
	}{
		{"clean", request("0", "initialize") + note("notifications/initialized") + ping,
			[]step{echo(pong)}, nil, ""},
		{"clean, cancelled and not answered", ping + cancel7, nil, nil, ""},
		{"clean, CRLF and blank lines", ping, []step{read1(), write("\r\n\n" + strings.TrimSuffix(answer("7"), "\n") + "\r\n")}, nil, ""},

		{"text", ping, []step{write("Server starting\n"), write("on port 3000\n"), echo(pong)},
			[]string{"text to-client 1 2"}, "Server starting"},
		{"text from the client", "hello\n", nil, []string{"text to-server 1 1"}, "hello"},
		{"broken over lines", ping, []step{read1(), write(pretty)},
			[]string{"broken-message to-client 1 1"}, "lines 1 to 5 are one response (id 7)"},
		{"raw newline", ping, []step{read1(), write(`{"jsonrpc":"2.0","id":7,"result":"a` + "\n" + `b"}` + "\n")},
			[]string{"broken-message to-client 1 1"}, "lines 1 to 2"},
		{"two on a line", request("1", "a") + request("2", "b"),
			[]step{read1(), read1(), write(strings.TrimSuffix(answer("1"), "\n") + answer("2"))},
			[]string{"two-messages to-client 1 1"}, "response (id 1), then response (id 2)"},
		{"LSP", ping, []step{read1(), write("Content-Length: 36\r\n\r\n" + answer("7"))},
			[]string{"lsp-framing to-client 1 1"}, "Content-Length"},
		{"BOM at the start", ping, []step{read1(), write("\xEF\xBB\xBF" + answer("7"))},
			[]string{"bom to-client 1 1"}, "start"},
		{"BOM later", ping, []step{read1(), write(note("a") + "\xEF\xBB\xBF" + note("b") + answer("7"))},
			[]string{"bom to-client 2 1"}, ""},
		{"UTF-16", "", []step{write("\xFF\xFE" + utf16(note("a")))},
			[]string{"utf-16 to-client 1 2", "unterminated to-client 2 1"}, ""},
		{"invalid UTF-8", ping, []step{read1(), write("{\"jsonrpc\":\"2.0\",\"method\":\"caf\xE9\"}\n" + answer("7"))},
			[]string{"invalid-utf-8 to-client 1 1"}, `caf\xe9`},
		{"over-long", ping, []step{read1(), write(`{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 500) + `","id":7}` + "\n")},
			[]string{"too-long to-client 1 1"}, "536"},
		{"broken JSON", ping, []step{read1(), write("{'a':1}\n"), write(answer("7"))},
			[]string{"bad-json to-client 1 1"}, "{'a':1}"},
		{"not JSON-RPC", ping, []step{read1(), write(`{"id":7,"result":{}}` + "\n")},
			[]string{"not-json-rpc to-client 1 1"}, "jsonrpc"},
		{"never answered", ping + request("8", "tools/call"), []step{read1(), write(answer("7"))},
			[]string{"never-answered to-server 2 1"}, "tools/call (id 8), open for"},
		{"clean, asked when nobody was there to answer", "", []step{read1(), write(ping)}, nil, ""},
		{"clean, a subscription", request("7", "subscriptions/listen"), []step{read1()}, nil, ""},
		{"clean, a subscription that the server ends", request("7", "subscriptions/listen"), []step{read1(), write(cancel7 + answer("7"))}, nil, ""},
		{"a subscription that is answered twice", request("7", "subscriptions/listen"), []step{read1(), write(cancel7 + answer("7") + answer("7"))},
			[]string{"answered-twice to-client 3 1"}, "id 7 (subscriptions/listen), answered already on line 2"},
		{"a server cancels what it was asked", ping, []step{read1(), write(cancel7)}, []string{"never-answered to-server 1 1"}, "ping (id 7)"},
		{"a crash with a subscription", request("8", "subscriptions/listen") + ping, []step{read1(), read1(), exit(3)},
			[]string{"server-ended to-server 2 1"}, "ping (id 7)"},
		{"answered with a string for an error", ping, []step{read1(), write(`{"jsonrpc":"2.0","id":7,"error":"boom"}` + "\n")},
			[]string{"not-json-rpc to-client 1 1"}, `"error" is not an object`},
		{"nobody asked", "", []step{write(answer("7"))}, []string{"unasked-answer to-client 1 1"}, "id 7"},
		{"an answer without an id", "", []step{write(fmt.Sprintf(noID, -32000))},
			[]string{"unasked-answer to-client 1 1"}, "without an id"},
		{"answered twice", ping, []step{read1(), write(answer("7") + answer("7"))},
			[]string{"answered-twice to-client 2 1"}, "id 7 (ping), answered already on line 1"},
		{"answered after it was cancelled", ping + cancel7, []step{read1(), read1(), write(answer("7"))},
			[]string{"answered-after-cancel to-client 1 1"}, "id 7 (ping), cancelled on line 2"},
		{"id became a string", ping, []step{read1(), write(answer(`"7"`))},
			[]string{"id-type-changed to-client 1 1"}, `id "7" answers the ping of line 1, whose id is 7`},
		{"id became a number", request(`"7"`, "ping"), []step{read1(), write(answer("7"))},
			[]string{"id-type-changed to-client 1 1"}, `id 7 answers`},
		{"id rounded", request("9007199254740993", "ping"), []step{read1(), write(answer("9007199254740992"))},
			[]string{"id-rounded to-client 1 1"}, "whose id is 9007199254740993"},
		{"notification answered", note("notifications/initialized"), []step{read1(), write(fmt.Sprintf(noID, -32601))},
			[]string{"notification-answered to-client 1 1"}, "notifications/initialized"},
		{"notification answered with a result", note("n"), []step{read1(), write(`{"jsonrpc":"2.0","id":null,"result":{}}` + "\n")},
			[]string{"notification-answered to-client 1 1"}, ""},
		{"message refused", ping, []step{read1(), write(fmt.Sprintf(noID, -32700) + answer("7"))},
			[]string{"message-refused to-client 1 1"}, "-32700"},
		{"rightly refused", "{'a':1}\n", []step{read1(), write(fmt.Sprintf(noID, -32700))},
			[]string{"bad-json to-server 1 1"}, ""},
		{"id reused in flight", ping + request("7", "tools/list"), []step{read1(), read1(), write(answer("7") + answer("7"))},
			[]string{"id-reused to-server 2 1"}, "line 1 asked ping with this id"},
		{"repeated member", ping, []step{read1(), write(`{"jsonrpc":"2.0","id":7,"id":8,"result":{}}` + "\n")},
			[]string{"repeated-member to-client 1 1"}, "id"},
		{"case variant", ping, []step{read1(), write(`{"jsonrpc":"2.0","id":7,"result":{},"Method":"x"}` + "\n")},
			[]string{"case-variant to-client 1 1"}, `"Method" in a response`},
		{"no newline at the end", ping, []step{read1(), write(strings.TrimSuffix(answer("7"), "\n"))},
			[]string{"unterminated to-client 1 1"}, "a whole response (id 7)"},
		{"half a message at the end", "", []step{write(`{"jsonrpc":"2.0","id`)},
			[]string{"unterminated to-client 1 1"}, `{"jsonrpc":"2.0","id`},
		{"crash", ping, []step{read1(), complain("Traceback: boom\n"), exit(3)},
			[]string{"server-ended to-server 1 1"}, "ping (id 7), open for"},
		{"most serious first", ping, []step{read1(), write("hello\n"), write(answer("8") + "Content-Length: 5\n"), exit(3)},
			[]string{"server-ended to-server 1 1", "lsp-framing to-client 3 1", "text to-client 1 1", "unasked-answer to-client 2 1"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := runSession(t, test.script, strings.NewReader(test.input), func(c *config) { c.maxLine = 300 })
			if got := o.found(); !reflect.DeepEqual(got, test.want) {
				t.Fatalf("findings %q, want %q; stderr:\n%s", got, test.want, o.stderr)
			}
			if len(o.findings) > 0 && !strings.Contains(o.findings[0].Occurrences[0].Text, test.text) {
				t.Errorf("text %q, want %q in it", o.findings[0].Occurrences[0].Text, test.text)
			}
		})
	}
}

// TestCleanBothWays: the server asks with an id that the client uses too.
func TestCleanBothWays(t *testing.T) {
	in, host := io.Pipe()
	client, out := io.Pipe()
	t.Setenv(envScript, encodeScript([]step{read1(), write(request("7", "roots/list")), read1(), write(answer("7"))}))
	o := outcome{}
	var errs bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.status = live(config{json: true, grace: 5 * time.Second, command: []string{os.Args[0]}}, streams{in, out, &errs})
	}()
	lines := bufio.NewReader(client)
	io.WriteString(host, ping)
	lines.ReadString('\n')
	io.WriteString(host, answer("7"))
	if last, _ := lines.ReadString('\n'); last != answer("7") {
		t.Errorf("the client got %q, want %q", last, answer("7"))
	}
	host.Close()
	<-done
	o.stderr = errs.String()
	o.parse(t)
	if len(o.findings) > 0 || len(o.summary.Methods) != 2 || o.summary.Open > 0 {
		t.Errorf("findings %q, summary %+v; want none, two methods, none in flight", o.found(), o.summary)
	}
}

func TestClientNeverAnswers(t *testing.T) {
	in, host := io.Pipe()
	client := new(counter)
	client.at(int64(len(ping)), func() { host.Close() })
	o := runTo(t, []step{write(ping)}, in, client)
	if got, want := o.found(), []string{"never-answered to-client 1 1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("findings %q, want %q", got, want)
	}
}

// TestSubscriptionCutOff: a server that ends by itself says so to its
// subscribers first.
func TestSubscriptionCutOff(t *testing.T) {
	in, host := io.Pipe()
	defer host.Close()
	go io.WriteString(host, request("7", "subscriptions/listen"))
	o := runSession(t, []step{read1(), exit(0)}, in)
	if got, want := o.found(), []string{"server-ended to-server 1 1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("findings %q, want %q", got, want)
	}
}

func TestServerEndedAlone(t *testing.T) {
	in, host := io.Pipe()
	defer host.Close()
	go io.WriteString(host, ping)
	o := runSession(t, []step{read1(), complain("out of memory\nbye"), exit(0)}, in)
	if got, want := o.found(), []string{"server-ended to-server 1 1"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("findings %q, want %q", got, want)
	}
	if got, want := o.summary.End.Stderr, []string{"out of memory", "bye"}; !reflect.DeepEqual(got, want) {
		t.Errorf("last lines %q, want %q", got, want)
	}
	if o.stderr[:len("out of memory\nbye")] != "out of memory\nbye" {
		t.Errorf("stderr %q, want the server's to go through", o.stderr)
	}
}

func TestPassThrough(t *testing.T) {
	var all strings.Builder // every byte, no newline at the end, and long enough for many reads
	for all.Len() < 3<<20 {
		for b := range 256 {
			all.WriteByte(byte(b * all.Len() >> 8))
		}
	}
	o := runSession(t, []step{copyAll(), exit(7)}, strings.NewReader(all.String()))
	if o.status != 7 || o.stdout != all.String() {
		t.Errorf("status %d and %d bytes, want 7 and the %d that were sent", o.status, len(o.stdout), all.Len())
	}
}

// TestHalfLinesGoThrough: what has no newline yet is not held back.
func TestHalfLinesGoThrough(t *testing.T) {
	in, host := io.Pipe()
	client, out := io.Pipe()
	t.Setenv(envScript, encodeScript([]step{copyAll()}))
	done := make(chan int)
	go func() {
		done <- live(config{grace: 5 * time.Second, command: []string{os.Args[0]}}, streams{in, out, io.Discard})
	}()
	for _, part := range []string{`{"js`, "\xC3", "\x00"} {
		io.WriteString(host, part)
		got := make([]byte, len(part))
		if _, err := io.ReadFull(client, got); err != nil || string(got) != part {
			t.Fatalf("sent %q, got %q, %v", part, got, err)
		}
	}
	host.Close()
	if rest, err := io.ReadAll(client); len(rest) > 0 || err != nil {
		t.Errorf("at the end %q, %v; want EOF", rest, err)
	}
	if status := <-done; status != 0 {
		t.Errorf("status %d, want 0", status)
	}
}

func TestSummaryCounts(t *testing.T) {
	input := request("0", "initialize") + ping + request("8", "ping") + request("9", "tools/call")
	script := []step{read1(), write(answer("0")), read1(), write(answer("7")), read1(),
		write(`{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"x"}}` + "\r\n\n")}
	o := runSession(t, script, strings.NewReader(input))
	s := o.summary
	if len(s.Streams) != 2 || s.Open != 1 || len(s.InFlight) != 1 || s.InFlight[0].Method != "tools/call" {
		t.Fatalf("summary %+v, want two streams and tools/call in flight", s)
	}
	client, server := s.Streams[0], s.Streams[1]
	if client.Lines != 4 || client.Raw.Bytes != int64(len(input)) || client.Messages["request"] != 4 || client.Largest != 46 {
		t.Errorf("client %+v, want 4 requests of %d bytes, the largest 46", client, len(input))
	}
	if server.Lines != 4 || server.Messages["response"] != 3 || server.CRLF != 1 || server.Blank != 1 {
		t.Errorf("server %+v, want 3 responses, a CRLF and a blank line", server)
	}
	var rows []string
	for _, m := range s.Methods {
		rows = append(rows, fmt.Sprintf("%s %d %d %t", m.Name, m.Calls, m.Errors, m.Latency != nil && m.Latency.Max >= m.Latency.Median && m.Latency.Min >= 0))
	}
	if want := []string{"initialize 1 0 true", "ping 2 1 true", "tools/call 1 0 false"}; !reflect.DeepEqual(rows, want) {
		t.Errorf("methods %q, want %q", rows, want)
	}
}

func TestCannotStart(t *testing.T) {
	file := t.TempDir() + "/data"
	os.WriteFile(file, []byte("no program"), 0o600)
	for _, test := range []struct {
		command string
		want    int
	}{{"/no/such/command", exitNotFound}, {"no-such-command-anywhere", exitNotFound}, {file, exitCannotRun}} {
		status, out, stderr := runTap("", "--", test.command)
		if status != test.want || out != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want %d, nothing, one line", test.command, status, out, stderr, test.want)
		}
	}
}

// TestVerbose: rows are there while the session goes on, in the records' form
// with -json.
func TestVerbose(t *testing.T) {
	for _, test := range []struct {
		json bool
		want []string // in order
	}{
		{false, []string{"-- started: ", "> ", "request       7             ping", "< ", "to ping", "-- server ended: exit status 0", "\nmcptap: "}},
		{true, []string{`"event":"start"`, `"dir":"to-server","line":1,"kind":"request"`, `"method":"ping","latency_ms":`, `"event":"eof"`, `"event":"end"`, `"event":"summary"`}},
	} {
		o := runSession(t, []step{echo(pong)}, strings.NewReader(ping), func(c *config) { c.verbose, c.json = true, test.json })
		rest := o.stderr
		for _, part := range test.want {
			i := strings.Index(rest, part)
			if i < 0 {
				t.Fatalf("-json %t: no %q in its place in:\n%s", test.json, part, o.stderr)
			}
			rest = rest[i+len(part):]
		}
	}
}
