package observe

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/mcp/framing"
)

func TestRedactor(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"request", `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"ab","n":-12.5e3,"ok":true,"no":null}}`,
			`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"xx","n":-11.1e1,"ok":true,"no":null}}`},
		{"id is a string", `{"id":"a-7","result":"secret"}`, `{"id":"a-7","result":"xxxxxx"}`},
		{"id is an object", `{"id":{"id":"secret","n":7}}`, `{"id":{"id":"xxxxxx","n":1}}`},
		{"id below the top", `{"params":{"id":"abc","method":12}}`, `{"params":{"id":"xxx","method":11}}`},
		{"cancellation", `{"method":"notifications/cancelled","params":{"requestId":9,"reason":"bored"}}`,
			`{"method":"notifications/cancelled","params":{"requestId":9,"reason":"xxxxx"}}`},
		{"a requestId elsewhere", `{"id":1,"result":{"requestId":"ab"}}`, `{"id":1,"result":{"requestId":"xx"}}`},
		{"a requestId deeper", `{"params":{"_meta":{"requestId":"ab"}}}`, `{"params":{"_meta":{"requestId":"xx"}}}`},
		{"cancellation in a batch", `[{"params":{"requestId":9,"x":9}}]`, `[{"params":{"requestId":9,"x":1}}]`},
		{"error", `{"id":7,"error":{"code":-32601,"message":"ab","data":{"code":5}}}`,
			`{"id":7,"error":{"code":-32601,"message":"xx","data":{"code":1}}}`},
		{"a code that is none", `{"id":7,"error":{"code":"ab"},"result":{"code":5}}`, `{"id":7,"error":{"code":"xx"},"result":{"code":1}}`},
		{"a version that is none", `{"jsonrpc":"2.0-ab\u0041","id":7}`, `{"jsonrpc":"2.0xxxxx0041","id":7}`},
		{"batch", `[{"id":5,"result":{"a":5}},{"method":"m"}]`, `[{"id":5,"result":{"a":1}},{"method":"m"}]`},
		{"escapes", `{"a":"\"b\\","c":"d\u0041"}`, `{"a":"xxxxx","c":"xxxxxxx"}`},
		{"punctuation in a string", `{"a":"x@y.z, {\"b\":1}"}`, `{"a":"xxxxxxxxxxxxxxxx"}`},
		{"white space", "{ \"a\" :\t[ 1 , \"b\" ] }\r", "{ \"a\" :\t[ 1 , \"x\" ] }\r"},
		{"text", "Password: hunter2!", "xxxxxxxx: xxxxxx1!"},
		{"text behind JSON", `{"a":1} then secret 42`, `{"a":1} xxxx xxxxxx 11`},
		{"bare number", "-120e-5", "-111e-1"},
		{"bare word", " null", " null"},
		{"text behind a bare number", "42 secrets", "11 xxxxxxx"},
		{"text in brackets", `[INFO] of 7`, `[xxxx] xx 1`},
		{"words that begin as JSON's", `[true,trust,nul,false]`, `[true,truxx,xxx,xxxxx]`},
		{"not a name", `{user: secret}`, `{xxxx: xxxxxx}`},
		{"single quotes", `{'id': 'secret'}`, `{'xx': 'xxxxxx'}`},
		{"a bare string", `"secret"`, `"xxxxxx"`},
		{"closes too much", `}secret`, `}xxxxxx`},
		{"control byte in a string", "{\"a\":\"b\x01c\"}", "{\"a\":\"x\x01x\"}"},
		{"BOM", "\xEF\xBB\xBF{\"a\":\"b\"}", "\xEF\xBB\xBF{\"a\":\"x\"}"},
		{"lines are apart", "{\"a\":\"b\n{\"id\":12}\n", "{\"a\":\"x\n{\"id\":12}\n"},
		{"no comma behind the id", `{"id":"a" "secret"}`, `{"id":"a" "xxxxxx"}`},
		{"no comma behind a number", `{"id":12 34,"error":{"code":-1"secret"}}`, `{"id":12 11,"error":{"code":-1"xxxxxx"}}`},
		{"a minus, and no number", `{"id":-"secret"}`, `{"id":-"xxxxxx"}`},
		{"id after a minus", `{"id":-12}`, `{"id":-12}`},
	}
	for _, test := range tests {
		var whole, bytewise Redactor
		if got := string(whole.Mask(nil, []byte(test.in))); got != test.want {
			t.Errorf("%s: Mask(%q) =\n%q, want\n%q", test.name, test.in, got, test.want)
		}
		var got []byte
		for _, b := range []byte(test.in) {
			got = bytewise.Mask(got, []byte{b})
		}
		if string(got) != test.want {
			t.Errorf("%s, byte by byte: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestRedactorDepth(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`[`, n) + `"secret"` + strings.Repeat(`]`, n)
	}
	for _, n := range []int{maxRedactDepth, maxRedactDepth + 1, maxRedactDepth + 100} {
		got := string(new(Redactor).Mask(nil, []byte(deep(n))))
		if strings.Contains(got, "secret") || len(got) != len(deep(n)) {
			t.Errorf("%d levels: %d bytes of %d, secret kept: %t", n, len(got), len(deep(n)), strings.Contains(got, "secret"))
		}
	}
}

func TestRedactorGap(t *testing.T) {
	var r Redactor
	got := r.Mask(nil, []byte(`{"a":"sec`))
	r.Gap(Gap{Bytes: 5, Inside: true})
	got = r.Mask(got, []byte("ret\",\"id\":\"more\"}\n{\"id\":\"kept\"}"))
	if want := `{"a":"xxxxxx","xx":"xxxx"}` + "\n" + `{"id":"kept"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzRedactor: a good line stays good, of the same kind, size and validity;
// a name, a method and an id stay; and the letters of a secret never come
// through in text.
func FuzzRedactor(f *testing.F) {
	for _, s := range []string{ping1, pong1, "hello", `{"a":[1,2,{"b":null}],"é":"中"}`, "\xff{", `[{"id":1}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := new(Redactor).Mask(nil, line)
		if len(got) != len(line) {
			t.Fatalf("%d bytes became %d", len(line), len(got))
		}
		if utf8.Valid(line) && !utf8.Valid(got) {
			t.Fatalf("%q is not UTF-8 any more: %q", line, got)
		}
		masked := bytes.Split(got, []byte("\n"))
		for i, one := range bytes.Split(line, []byte("\n")) { // a text over several lines is none
			if json.Valid(one) && !json.Valid(masked[i]) {
				t.Fatalf("%q is not JSON any more: %q", one, masked[i])
			}
		}
		if strings.ContainsAny(string(line), "\n") || !json.Valid(line) || len(line) > 3 && string(line[:3]) == "\xEF\xBB\xBF" {
			return
		}
		was, _ := Parse(line)
		is, _ := Parse(got)
		if was.Kind >= framing.Request && was.Kind <= framing.Response && !strings.Contains(string(line), `\u`) {
			if is.Kind != was.Kind || string(is.ID) != string(was.ID) || is.Method != was.Method {
				t.Fatalf("%q became %q: %v %s %s", line, got, is.Kind, is.ID, is.Method)
			}
		}
	})
}

// TestRedactedEntries: neither the excerpt nor the reason shows a value.
func TestRedactedEntries(t *testing.T) {
	lines := []string{
		"the password is hunter2", `{"a":"hunter2" "b"}`, `{"a":hunter2}`, `{"id":1,"result":"hunter2"}`,
		`{"jsonrpc":"hunter2","method":"m"}`,
		`{"a":"hunter2"} hunter2`, `hunter2 {"a":1}`, `{"a":"\hunter2"}`, `{hunter2:1}`, "{\"a\":\"hunter2\x01\"}",
	}
	for _, line := range lines {
		s := Scanner{Redact: true, Emit: func(e *Entry) {
			text, _ := json.Marshal(e)
			if e.Fault == nil || strings.Contains(string(text), "hunter") {
				t.Errorf("%s: entry %s, want a fault without the value", line, text)
			}
		}}
		s.Feed(time.Time{}, []byte(line+"\n"))
	}
}

// TestCancelsAnID: what stands in an id's place and is none is a value like
// any other, and does not get into the records.
func TestCancelsAnID(t *testing.T) {
	for id, want := range map[string]string{`7`: `7`, `-1`: `-1`, `"a"`: `"a"`, `["secret"]`: "", `{"a":"secret"}`: "", `null`: "", `true`: ""} {
		for _, line := range []string{
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`,
			`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`,
		} {
			s := Scanner{Emit: func(e *Entry) {
				if string(e.Cancels) != want {
					t.Errorf("%s cancels %s, want %q", line, e.Cancels, want)
				}
			}}
			s.Feed(time.Time{}, []byte(line+"\n"))
		}
	}
}
