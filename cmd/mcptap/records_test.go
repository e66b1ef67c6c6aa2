package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/mcp/framing"
	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// recorded runs a session with something of everything in it, and records it.
func recorded(t *testing.T, dir string, change ...func(*config)) outcome {
	script := []step{write("secret words\n"), read1(), write(answer("0")), read1(), read1(), write(answer(`"7"`) + "{\n\"id\":\n8}\n"), exit(3)}
	input := request("0", "initialize") + ping + `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"key":"secret"}}` + "\n"
	change = append(change, func(c *config) {
		c.log, c.capture = filepath.Join(dir, "log"), filepath.Join(dir, "capture")
	})
	return runSession(t, script, strings.NewReader(input), change...)
}

// TestRecordsReadBack: log and capture tell the same as the live session,
// for every session in them.
func TestRecordsReadBack(t *testing.T) {
	dir := t.TempDir()
	want := recorded(t, dir)
	recorded(t, dir)
	if len(want.findings) < 3 {
		t.Fatalf("findings %q, want several to compare", want.found())
	}
	for _, name := range []string{"log", "capture"} {
		status, out, stderr := runTap("", "-json", filepath.Join(dir, name))
		if status != exitBadLines || stderr != "" {
			t.Errorf("%s: status %d, stderr %q; want %d and nothing", name, status, stderr, exitBadLines)
		}
		got := outcome{stderr: out}
		got.parse(t)
		if twice := append(want.found(), want.found()...); !reflect.DeepEqual(got.found(), twice) {
			t.Errorf("%s: findings %q, want %q", name, got.found(), twice)
		}
		for i := range got.summary.Streams { // how the reads fell differs from session to session
			got.summary.Streams[i].Reads, got.summary.Streams[i].SplitReads = 0, 0
			want.summary.Streams[i].Reads, want.summary.Streams[i].SplitReads = 0, 0
		}
		if !reflect.DeepEqual(got.summary.Streams, want.summary.Streams) || got.summary.End.Status != "exit status 3" {
			t.Errorf("%s: summary %+v, want %+v", name, got.summary, want.summary)
		}
	}
}

// TestRedact: no value gets into the records, or into what is said on stderr.
func TestRedact(t *testing.T) {
	dir := t.TempDir()
	o := recorded(t, dir, func(c *config) { c.redact = true; c.command = append(c.command, "-secret") })
	names, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	all := o.stderr
	for _, name := range append(names, filepath.Join(dir, "log")) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	if len(names) != 3 || strings.Contains(all, "secret") {
		t.Errorf("%d files of the capture, secret in them: %t; want 3 and no secret:\n%s", len(names), strings.Contains(all, "secret"), all)
	}
	if !strings.Contains(all, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"key":"xxxxxx"}}`) {
		t.Errorf("names, ids and sizes should stay:\n%s", all)
	}
}

// TestRedactLastWords: they are not shown, nor said not to be there.
func TestRedactLastWords(t *testing.T) {
	o := runSession(t, []step{read1(), complain("the secret\n"), exit(3)}, strings.NewReader(ping), func(c *config) { c.redact = true })
	if got, want := o.summary.End.Stderr, []string{"(lines masked: 1)"}; !reflect.DeepEqual(got, want) {
		t.Errorf("last lines %q, want %q", got, want)
	}
}

// TestNotFlushed: a server that holds its answers back until its stdin ends,
// as a buffered stdout does, live and read back.
func TestNotFlushed(t *testing.T) {
	dir := t.TempDir()
	in, host := io.Pipe()
	go io.WriteString(host, ping)
	time.AfterFunc(time.Second, func() { host.Close() }) // twice what counts as waiting
	o := runSession(t, []step{read1(), read1(), write(answer("7"))}, in, func(c *config) {
		c.log, c.capture = filepath.Join(dir, "log"), filepath.Join(dir, "capture")
	})
	_, log, _ := runTap("", filepath.Join(dir, "log"))
	_, capture, _ := runTap("", filepath.Join(dir, "capture"))
	if got := fmt.Sprint(o.found()); got != "[not-flushed to-client 1 1]" {
		t.Errorf("findings %s, want that nothing was flushed", got)
	}
	for _, text := range []string{log, capture} {
		if !strings.Contains(text, "1. The server wrote nothing before its stdin had ended\n     server line 1: ping (id 7) had waited for ") {
			t.Errorf("read back:\n%s", text)
		}
	}
}

func TestBadRecords(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(name), 0o700)
		os.WriteFile(name, []byte(text), 0o600)
		return name
	}
	head := `{"mcptap":"capture","files":["../../a","b"]}` + "\n"
	file("c/b", "")
	file("c/a", "1234")
	for _, test := range []struct{ name, want string }{
		{file("log", `{"pid":1,"event":"start"}`+"\n{\"pid\":1,"), "line 2: not a record"},
		{file("log2", `{"pid":1,"event":"start"}`+"\n{}\n\nx\n"), "line 2: not a record of a log, passed over: neither a message nor an event (and 1 more lines)"},
		{file("c/reads.ndjson", head+`{"dir":"to-server","bytes":5}`), "shorter"},
		{file("c/size", head+`{"dir":"to-server","bytes":-5}`), "impossible"},
		{file("c/none", `{"mcptap":"capture","files":[]}`), "two files"},
		{file("c/dir", head+`{"dir":"sideways","bytes":1}`), "sideways"},
		{file("c/escape", `{"mcptap":"capture","files":["\u001b[2J","b"]}`), `\x1b[2J`},
		{filepath.Dir(file("empty/x", "")), "no capture"},
	} {
		if status, _, stderr := runTap("", test.name); status != exitUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: status %d, stderr %q; want %d and %q", test.name, status, stderr, exitUsage, test.want)
		}
	}
	if status, _, stderr := runTap(head); status != exitUsage || !strings.Contains(stderr, "folder") {
		t.Errorf("a capture on stdin: status %d, stderr %q; want %d and what to do", status, stderr, exitUsage)
	}
	if status, _, _ := tapReader(iotest.ErrReader(errors.New("broken disk"))); status != exitUsage {
		t.Errorf("a broken stdin: status %d, want %d", status, exitUsage)
	}
}

// TestTornLog: what is wrong in the middle of a log costs that record alone,
// and a session that begins behind a torn record loses none.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	want := recorded(t, dir)
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	torn := len(data) - 20 // the end is lost
	if err := os.WriteFile(log, data[:torn], 0o600); err != nil {
		t.Fatal(err)
	}
	recorded(t, dir)
	status, out, stderr := runTap("", "-json", log)
	if status != exitUsage || !strings.Contains(stderr, "not a record") {
		t.Errorf("status %d, stderr %q; want %d and what was wrong", status, stderr, exitUsage)
	}
	got := outcome{stderr: out}
	got.parse(t)
	whole := 0
	for _, found := range got.found() {
		for _, f := range want.found() {
			if found == f {
				whole++
			}
		}
	}
	if whole < 2*len(want.findings)-1 || strings.Count(out, `"event":"start"`) != 2 { // but the one that needs the end
		t.Errorf("findings %q, want about twice %q, and two starts", got.found(), want.found())
	}
}

// TestRunningLog: the log of a session that hangs can be read.
func TestRunningLog(t *testing.T) {
	dir := t.TempDir()
	want := recorded(t, dir)
	data, _ := os.ReadFile(filepath.Join(dir, "log"))
	var begun []byte
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(`"event":"e`)) { // neither eof nor end
			begun = append(begun, line...)
		}
	}
	log := filepath.Join(dir, "begun")
	if err := os.WriteFile(log, begun, 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, _ := runTap("", log)
	server := want.summary.Streams[1]
	for _, text := range []string{
		"-- no end is recorded", fmt.Sprintf("server wrote  %d lines, %d bytes", server.Lines, server.Raw.Bytes), "1 in flight:\n  tools/call (id 8), client line 3, since 2",
	} {
		if !strings.Contains(out, text) {
			t.Errorf("missing %q in:\n%s", text, out)
		}
	}
	if strings.Contains(out, "never answered") {
		t.Errorf("nobody knows yet:\n%s", out)
	}
}

// TestTornCapture: what there is of a capture is shown.
func TestTornCapture(t *testing.T) {
	dir := t.TempDir()
	recorded(t, dir)
	capture := filepath.Join(dir, "capture")
	if err := os.Truncate(capture+"/to-client.ndjson", 20); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := runTap("", capture)
	if status != exitUsage || !strings.Contains(stderr, "shorter") || !strings.Contains(out, "secret words") {
		t.Errorf("status %d, stderr %q, want %d and the text in:\n%s", status, stderr, exitUsage, out)
	}
}

func tapReader(r io.Reader) (int, string, string) {
	var out, errs bytes.Buffer
	status := run(nil, streams{r, &out, &errs})
	return status, out.String(), errs.String()
}

// FuzzReadLog: whatever a log holds, reading it back ends in an orderly way.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte(`{"pid":1,"event":"start"}` + "\n" + `{"pid":1,"line":1,"kind":"response","id":1,"completes":true,"part_of":3,"bytes":-1}`))
	f.Add([]byte(`{"pid":1,"event":"end","end":{"status":"\u001b[31m","stderr":["\u001b"]}}` + "\n" +
		`{"pid":1,"kind":"\u001bx","fault":{"sort":"text","class":"\u001b","reason":"\u001b","excerpt":"\u001b\u009b"}}`))
	f.Add([]byte(`{"pid":1,"kind":"malformed","dir":"to-client","fault":{"sort":"?","caret":-4,"excerpt":"x"}}`))
	f.Fuzz(func(t *testing.T, log []byte) {
		status, out, stderr := runTap(string(log))
		if status > exitUsage {
			t.Errorf("status %d", status)
		}
		steers := func(r rune) bool { return r != '\n' && (r < 0x20 || r > 0x7E) }
		if i := strings.IndexFunc(out, steers); i >= 0 {
			t.Errorf("byte %d of the output can steer a terminal: %q", i, out)
		}
		if strings.Count(stderr, "\n") > 1 {
			t.Errorf("stderr %q, want one line", stderr)
		}
	})
}

type closeBuffer struct{ bytes.Buffer }

func (*closeBuffer) Close() error { return nil }

// FuzzTap feeds both directions any bytes in reads of any size: what comes
// out equals what went in, and the counts equal a recount.
func FuzzTap(f *testing.F) {
	f.Add([]byte(ping+"x\r\n\n"), []byte(answer("7")+"{\n}\n\xff"), uint8(3))
	f.Add([]byte("\xEF\xBB\xBF"+ping), []byte("["+strings.TrimSpace(ping)+"]\n\r\n"), uint8(0))
	f.Fuzz(func(t *testing.T, in, out []byte, size uint8) {
		var toServer, toClient closeBuffer
		c := config{json: true, maxLine: 64}
		tp := newTap(c, streams{&chunked{in, int(size) + 1}, &toClient, io.Discard})
		tp.in, tp.out = &toServer, io.NopCloser(&chunked{out, int(size) + 1})
		go tp.observe()
		tp.toServer()
		tp.toClient()
		tp.q.close()
		<-tp.observed
		if !bytes.Equal(toServer.Bytes(), in) || !bytes.Equal(toClient.Bytes(), out) {
			t.Fatalf("came out %q and %q, went in %q and %q", toServer.Bytes(), toClient.Bytes(), in, out)
		}
		for _, s := range tp.watch.obs.Summary(time.Time{}, true).Streams {
			recount(t, s, map[observe.Dir][]byte{observe.ToServer: in, observe.ToClient: out}[s.Dir])
		}
	})
}

// FuzzReadBack: the log and the capture of any session, read back, tell what
// the session itself did.
func FuzzReadBack(f *testing.F) {
	f.Add([]byte(ping+"x\r\n\n"+cancel7), []byte(answer("7")+"{\n}\n\xff"), uint8(3))
	f.Add([]byte("\xEF\xBB\xBF"+ping+request(`"7"`, "a")), []byte("["+strings.TrimSpace(ping)+","+strings.TrimSpace(answer("7"))+"]\n\r\n{\"a\""), uint8(200))
	f.Add([]byte(request("9007199254740993", "m")+"{}\n"), []byte(answer("9007199254740992")+answer("1")+answer("1")+strings.Repeat("x", 100)+"\n"), uint8(7))
	f.Fuzz(func(t *testing.T, in, out []byte, size uint8) {
		dir := t.TempDir()
		c := config{json: true, maxLine: 64, log: filepath.Join(dir, "log"), capture: filepath.Join(dir, "capture")}
		var errs bytes.Buffer
		tp := newTap(c, streams{err: &errs})
		if err := tp.openRecords(); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_800_000_000, 0)
		tp.watch.start(at, []string{"server"})
		for n := int(size) + 1; len(in)+len(out) > 0; at = at.Add(time.Second) {
			for i, rest := range []*[]byte{&in, &out} {
				if part := (*rest)[:min(n, len(*rest))]; len(part) > 0 {
					tp.watch.chunk(at, observe.ToServer+observe.Dir(i), part)
					*rest = (*rest)[len(part):]
				}
			}
		}
		tp.watch.eof(at, observe.ToServer)
		tp.watch.end(at, observe.End{Status: "exit status 1", Failed: true})
		tp.watch.summary(at, true)
		tp.watch.close()
		want := outcome{stderr: errs.String()}
		want.parse(t)
		for _, name := range []string{c.log, c.capture} {
			_, text, stderr := runTap("", "-json", "-max-line", "64", name)
			got := outcome{stderr: text}
			got.parse(t)
			if stderr != "" || !reflect.DeepEqual(got.findings, want.findings) || !reflect.DeepEqual(got.summary, want.summary) {
				t.Fatalf("%s: stderr %q, findings and summary\n%+v\n%+v\nwant\n%+v\n%+v", name, stderr, got.findings, got.summary, want.findings, want.summary)
			}
		}
	})
}

// recount compares s with what framing's own reader says of the whole stream.
func recount(t *testing.T, s observe.Stream, data []byte) {
	kinds := map[string]int{}
	r := framing.NewReader(bytes.NewReader(data))
	r.MaxLine = 64
	entries := 0
	for m := range r.All() {
		kinds[m.Kind.String()]++
		entries++
	}
	lines := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	if len(kinds) == 0 {
		kinds = s.Messages
	}
	if s.Raw.Bytes != int64(len(data)) || s.Lines != lines || s.Blank != lines-entries || !reflect.DeepEqual(s.Messages, kinds) {
		text, _ := json.Marshal(s)
		t.Fatalf("%q: summary %s, want %d bytes, %d lines, %d blank, %v", data, text, len(data), lines, lines-entries, kinds)
	}
}

// chunked reads n bytes at a time.
type chunked struct {
	rest []byte
	n    int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(c.n, len(p))], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
