package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runTap runs the program in this process and returns what it printed.
func runTap(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(args, streams{strings.NewReader(stdin), &out, &errs})
	return status, out.String(), errs.String()
}

const session = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}
{"jsonrpc":"2.0","id":0,"result":{}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
listening on port 3000
{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}
{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"no such tool"}}
`

func TestReadRows(t *testing.T) {
	status, out, stderr := runTap(session)
	rows, _, _ := strings.Cut(out, "\n\n")
	want := strings.TrimPrefix(`
     1  request       0             initialize                            58 B
     2  response      0             to initialize                         36 B
     3  notification                notifications/initialized             54 B
     4  malformed                                                         22 B
        REASON
        listening on port 3000
        ^
     5  request       "a"           tools/call                            70 B
     6  response      "a"           to tools/call                         75 B  error -32602`, "\n")
	lines := strings.Split(rows, "\n")
	if len(lines) > 4 {
		lines[4] = "        REASON" // its words belong to package framing
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
	if status != exitBadLines || stderr != "" {
		t.Errorf("status %d, stderr %q; want %d and nothing", status, stderr, exitBadLines)
	}
	for _, part := range []string{
		"total         6 lines, 321 bytes; the largest line has 75 (line 6)",
		"request 2, notification 1, response 2, malformed 1",
		"1 bad line: syntax 1",
		"tools/call                             1       1",
		"1. The writer writes text on the stream\n     line 4: \"listening on port 3000\"",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("output lacks %q:\n%s", part, out)
		}
	}
}

func TestReadStatus(t *testing.T) {
	good := `{"jsonrpc":"2.0","id":0,"method":"ping"}` + "\n"
	for _, test := range []struct {
		name, stdin string
		want        int
	}{
		{"nothing", "", 0},
		{"good", good, 0},
		{"malformed", good + "x\n", exitBadLines},
		{"invalid", good + "{}\n", exitBadLines},
		{"blank lines", "\n\n" + good, 0},
	} {
		if got, out, _ := runTap(test.stdin); got != test.want {
			t.Errorf("%s: status %d, want %d; output:\n%s", test.name, got, test.want, out)
		}
	}
}

// TestCaretUnderTheSpot: the caret stands under the offset that framing gives.
func TestCaretUnderTheSpot(t *testing.T) {
	_, out, _ := runTap(`{"a":1,` + "\t\x1b中" + `@}` + "\n")
	lines := strings.Split(out, "\n")
	const shown = `        {"a":1,\t\x1b\u4e2d@}`
	if len(lines) < 4 || lines[2] != shown || strings.Contains(out, "\x1b") {
		t.Fatalf("output %q, want the line %q and no escape character", out, shown)
	}
	if caret := strings.Index(lines[3], "^"); caret < 0 || caret != strings.Index(shown, `\x1b`) {
		t.Errorf("caret in column %d:\n%s\nwant it under \\x1b", caret, out)
	}
}

func TestReadJSON(t *testing.T) {
	status, out, _ := runTap(session, "-json")
	if status != exitBadLines {
		t.Errorf("status %d, want %d", status, exitBadLines)
	}
	var kinds []string
	for line := range strings.Lines(out) {
		var o struct{ Kind, Event, Method string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		kinds = append(kinds, o.Kind+o.Event)
	}
	if got, want := strings.Join(kinds, " "), "request response notification malformed request response finding summary"; got != want {
		t.Errorf("objects %q, want %q", got, want)
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	os.WriteFile(good, []byte(`{"jsonrpc":"2.0","method":"m"}`+"\n"), 0o600)
	os.WriteFile(bad, []byte("x\n"), 0o600)
	if status, out, _ := runTap("", good); status != 0 || strings.Contains(out, good) {
		t.Errorf("one file: status %d, want 0; want no heading:\n%s", status, out)
	}
	status, out, _ := runTap("", bad, good)
	if status != exitBadLines || !strings.Contains(out, bad+":\n") || !strings.Contains(out, good+":\n") {
		t.Errorf("two files: status %d, want %d and a heading each:\n%s", status, exitBadLines, out)
	}
}

// An empty stdin is an empty session, not a forgotten argument, by whatever name it goes.
func TestReadNothing(t *testing.T) {
	null, err := os.Open(strings.Replace(os.DevNull, "/dev/", "/dev/./", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out, errs bytes.Buffer
	if status := run(nil, streams{null, &out, &errs}); status != 0 || !strings.Contains(out.String(), "no bytes at all") {
		t.Errorf("mcptap < %s: status %d, stdout %q, stderr %q; want 0 and no bytes at all", null.Name(), status, out.String(), errs.String())
	}
}

func TestWrongUse(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-nonsense", "-nonsense"},
		{"--", "no command"},
		{"-log x", "-log"},
		{"-capture x file", "-capture"},
		{"-clean file", "-clean"},
		{"-max-line many", "many"},
		{"-grace -1s -- true", "for flag -grace: want a time with its unit, as in 5s"},
		{"-grace 5 -- true", "for flag -grace: want a time with its unit, as in 5s"},
		{"/no/such/file", "/no/such/file"},
		{"-log /no/such/folder/log -- true", "/no/such/folder/log"},
		{"-capture " + os.Args[0] + " -- true", "not a directory"},
		{"-log -- true", `-log needs a name, which "--" is not`},
		{"-capture -log x -- true", `"-log"`},
		{"go run ./server", "go is a command: to run it, put -- before it"},
		{os.Args[0], "to run it, put -- before it"}, // and not a file of messages
	} {
		status, out, stderr := runTap("", strings.Fields(test.args)...)
		if status != exitUsage || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("mcptap %s: status %d, stdout %q, stderr %q; want %d, nothing, one line with %q", test.args, status, out, stderr, exitUsage, test.want)
		}
	}
}

func TestHelpFitsAScreen(t *testing.T) {
	status, out, _ := runTap("", "-h")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if status != 0 || len(lines) > 24 {
		t.Errorf("status %d and %d lines, want 0 and at most 24", status, len(lines))
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("%d columns, want at most 80: %s", len(line), line)
		}
	}
	if !strings.Contains(out, `"mcpServers"`) {
		t.Error("help lacks the host's configuration")
	}
}

var corpus = flag.String("corpus", "../../../shared/corpus", "folder with recorded traffic")

// TestCorpus: recorded traffic is digested, and no line is lost.
func TestCorpus(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join(*corpus, "*.ndjson"))
	if len(names) == 0 {
		t.Skipf("no *.ndjson in %s (flag -corpus)", *corpus)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, out, stderr := runTap(string(data), "-json")
		if got, want := strings.Count(out, `{"line":`), bytes.Count(data, []byte("\n")); got < want || stderr != "" {
			t.Errorf("%s: %d entries, want %d; stderr %q", name, got, want, stderr)
		}
	}
}
