package framing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"example.com/mcp/framing"
)

// envelopes are lines and what they are to JSON-RPC; of the members those that the Message is to have.
var envelopes = []struct {
	name                      string
	line                      string
	kind                      framing.Kind
	id, method                string
	params, result, errObject string
}{
	{"request", `{"jsonrpc":"2.0","id":1,"method":"m"}`, framing.Request, `1`, "m", ``, ``, ``},
	{"request with object params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, framing.Request, `1`, "m", `{"a":1}`, ``, ``},
	{"request with array params", `{"jsonrpc":"2.0","id":1,"method":"m","params":[1,2]}`, framing.Request, `1`, "m", `[1,2]`, ``, ``},
	{"request with params null", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, framing.Request, `1`, "m", ``, ``, ``},
	{"request with a string as params", `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"request with a number as params", `{"jsonrpc":"2.0","id":1,"method":"m","params":5}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"request with false as params", `{"jsonrpc":"2.0","id":1,"method":"m","params":false}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"request in another order", `{"params":{},"method":"m","id":1,"jsonrpc":"2.0"}`, framing.Request, `1`, "m", `{}`, ``, ``},
	{"request with other members", `{"x":[1],"jsonrpc":"2.0","id":1,"y":{"id":2},"method":"m","":0}`, framing.Request, `1`, "m", ``, ``, ``},
	{"request with white space", ` { "jsonrpc" : "2.0" , "id" : 1 , "method" : "m" , "params" : { } } `, framing.Request, `1`, "m", `{ }`, ``, ``},
	{"request with a result", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, framing.Invalid, `1`, "m", ``, `1`, ``},
	{"request with an error", `{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":""}}`, framing.Invalid, `1`, "m", ``, ``, `{"code":1,"message":""}`},
	{"request with result null", `{"jsonrpc":"2.0","id":1,"method":"m","result":null}`, framing.Invalid, `1`, "m", ``, `null`, ``},

	{"id zero", `{"jsonrpc":"2.0","id":0,"method":"m"}`, framing.Request, `0`, "m", ``, ``, ``},
	{"id minus zero", `{"jsonrpc":"2.0","id":-0,"method":"m"}`, framing.Request, `-0`, "m", ``, ``, ``},
	{"id negative", `{"jsonrpc":"2.0","id":-17,"method":"m"}`, framing.Request, `-17`, "m", ``, ``, ``},
	{"id 2^53+1", `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, framing.Request, `9007199254740993`, "m", ``, ``, ``},
	{"id beyond 64 bits", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"}`, framing.Request, `123456789012345678901234567890`, "m", ``, ``, ``},
	{"id a string", `{"jsonrpc":"2.0","id":"a","method":"m"}`, framing.Request, `"a"`, "m", ``, ``, ``},
	{"id an empty string", `{"jsonrpc":"2.0","id":"","method":"m"}`, framing.Request, `""`, "m", ``, ``, ``},
	{"id a string with an escaped NUL", `{"jsonrpc":"2.0","id":"a\u0000b","method":"m"}`, framing.Request, `"a\u0000b"`, "m", ``, ``, ``},
	{"id a string in UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\u00e9\u2028\",\"method\":\"m\"}", framing.Request, "\"\u00e9\u2028\"", "m", ``, ``, ``},
	{"id 1e400", `{"jsonrpc":"2.0","id":1e400,"method":"m"}`, framing.Invalid, `1e400`, "m", ``, ``, ``},
	{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, framing.Invalid, `1.0`, "m", ``, ``, ``},
	{"id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, framing.Invalid, `1.5`, "m", ``, ``, ``},
	{"id 1E5", `{"jsonrpc":"2.0","id":1E5,"method":"m"}`, framing.Invalid, `1E5`, "m", ``, ``, ``},
	{"id null in a request", `{"jsonrpc":"2.0","id":null,"method":"m"}`, framing.Invalid, ``, "m", ``, ``, ``},
	{"id true", `{"jsonrpc":"2.0","id":true,"method":"m"}`, framing.Invalid, ``, "m", ``, ``, ``},
	{"id an object", `{"jsonrpc":"2.0","id":{"a":1},"method":"m"}`, framing.Invalid, ``, "m", ``, ``, ``},
	{"id an array", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, framing.Invalid, ``, "m", ``, ``, ``},

	{"method with escapes", `{"jsonrpc":"2.0","id":1,"method":"tools\/c\u0061ll\n\ud83d\ude00"}`, framing.Request, `1`, "tools/call\n\U0001f600", ``, ``, ``},
	{"method empty", `{"jsonrpc":"2.0","id":1,"method":""}`, framing.Request, `1`, "", ``, ``, ``},
	{"method a number", `{"jsonrpc":"2.0","id":5,"method":5}`, framing.Invalid, `5`, "", ``, ``, ``},
	{"method null", `{"jsonrpc":"2.0","id":5,"method":null}`, framing.Invalid, `5`, "", ``, ``, ``},
	{"method null beside a result", `{"jsonrpc":"2.0","id":5,"method":null,"result":1}`, framing.Invalid, `5`, "", ``, `1`, ``},
	{"method an object", `{"jsonrpc":"2.0","id":5,"method":{"method":"x"}}`, framing.Invalid, `5`, "", ``, ``, ``},

	{"jsonrpc missing", `{"id":1,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"jsonrpc a number", `{"jsonrpc":2.0,"id":1,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"jsonrpc null", `{"jsonrpc":null,"id":1,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"jsonrpc with a space", `{"jsonrpc":"2.0 ","id":1,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"jsonrpc escaped", `{"jsonrpc":"2\u002e0","id":1,"method":"m"}`, framing.Request, `1`, "m", ``, ``, ``},

	{"names escaped", `{"\u006asonrpc":"2.0","\u0069d":1,"\u006dethod":"m","para\u006ds":{}}`, framing.Request, `1`, "m", `{}`, ``, ``},
	{"names of escapes alone", `{"jsonrpc":"2.0","\u0069\u0064":1,"\u006d\u0065\u0074\u0068\u006F\u0064":"m"}`, framing.Request, `1`, "m", ``, ``, ``},
	{"name in capitals", `{"jsonrpc":"2.0","id":1,"Method":"m"}`, framing.Invalid, `1`, "", ``, ``, ``},
	{"names in two cases", `{"jsonrpc":"2.0","id":1,"method":"a","Method":"b","ID":2}`, framing.Request, `1`, "a", ``, ``, ``},
	{"name with a long s", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"param\u017f\":{}}", framing.Request, `1`, "m", ``, ``, ``},
	{"name with a Kelvin sign", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"\u212aey\":{}}", framing.Request, `1`, "m", ``, ``, ``},
	{"name with an escaped NUL behind", `{"jsonrpc":"2.0","id":1,"method":"m","id\u0000":2}`, framing.Request, `1`, "m", ``, ``, ``},

	{"repeated jsonrpc", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"repeated id", `{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"repeated id, escaped", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"repeated id, the first of a wrong type", `{"jsonrpc":"2.0","id":null,"id":2,"method":"m"}`, framing.Invalid, ``, "m", ``, ``, ``},
	{"repeated method", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, framing.Invalid, `1`, "a", ``, ``, ``},
	{"repeated method, the first of a wrong type", `{"jsonrpc":"2.0","id":1,"method":1,"method":"b"}`, framing.Invalid, `1`, "", ``, ``, ``},
	{"repeated params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":[]}`, framing.Invalid, `1`, "m", `{}`, ``, ``},
	{"repeated params, both null", `{"jsonrpc":"2.0","id":1,"method":"m","params":null,"params":null}`, framing.Invalid, `1`, "m", ``, ``, ``},
	{"repeated result", `{"jsonrpc":"2.0","id":1,"result":1,"result":2}`, framing.Invalid, `1`, "", ``, `1`, ``},
	{"repeated error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"},"error":{"code":2,"message":"b"}}`, framing.Invalid, `1`, "", ``, ``, `{"code":1,"message":"a"}`},
	{"repeated other member", `{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2}`, framing.Request, `1`, "m", ``, ``, ``},
	{"repeated below the top", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":1,"id":2}}`, framing.Request, `1`, "m", `{"id":1,"id":2}`, ``, ``},

	{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, framing.Notification, ``, "notifications/initialized", ``, ``, ``},
	{"notification with params", `{"jsonrpc":"2.0","method":"m","params":{"a":[]}}`, framing.Notification, ``, "m", `{"a":[]}`, ``, ``},
	{"notification with a result", `{"jsonrpc":"2.0","method":"m","result":{}}`, framing.Invalid, ``, "m", ``, `{}`, ``},
	{"notification with bad params", `{"jsonrpc":"2.0","method":"m","params":1}`, framing.Invalid, ``, "m", ``, ``, ``},

	{"response", `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, framing.Response, `1`, "", ``, `{"a":1}`, ``},
	{"response, id last", `{"result":{"id":7},"jsonrpc":"2.0","id":1}`, framing.Response, `1`, "", ``, `{"id":7}`, ``},
	{"response, result null", `{"jsonrpc":"2.0","id":1,"result":null}`, framing.Response, `1`, "", ``, `null`, ``},
	{"response, result false", `{"jsonrpc":"2.0","id":1,"result":false}`, framing.Response, `1`, "", ``, `false`, ``},
	{"response, result a string", `{"jsonrpc":"2.0","id":"a","result":"x\"y"}`, framing.Response, `"a"`, "", ``, `"x\"y"`, ``},
	{"response without id", `{"jsonrpc":"2.0","result":{}}`, framing.Invalid, ``, "", ``, `{}`, ``},
	{"response with id null", `{"jsonrpc":"2.0","id":null,"result":{}}`, framing.Invalid, ``, "", ``, `{}`, ``},
	{"response with a fraction as id", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, framing.Invalid, `1.5`, "", ``, `{}`, ``},
	{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`, framing.Invalid, `1`, "", ``, `{}`, `{"code":1,"message":"x"}`},
	{"result and error null", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, framing.Invalid, `1`, "", ``, `{}`, ``},
	{"result null and an error", `{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"x"}}`, framing.Invalid, `1`, "", ``, `null`, `{"code":1,"message":"x"}`},
	{"neither result nor error", `{"jsonrpc":"2.0","id":1}`, framing.Invalid, `1`, "", ``, ``, ``},

	{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, framing.Response, `1`, "", ``, ``, `{"code":-32601,"message":"no"}`},
	{"error with data", `{"jsonrpc":"2.0","id":1,"error":{"data":{"code":"x"},"message":"no","code":0}}`, framing.Response, `1`, "", ``, ``, `{"data":{"code":"x"},"message":"no","code":0}`},
	{"error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, framing.Response, `null`, "", ``, ``, `{"code":-32700,"message":"x"}`},
	{"error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, framing.Response, ``, "", ``, ``, `{"code":-32700,"message":"x"}`},
	{"error with id true", `{"jsonrpc":"2.0","id":true,"error":{"code":-32700,"message":"x"}}`, framing.Invalid, ``, "", ``, ``, `{"code":-32700,"message":"x"}`},
	{"error with names escaped", `{"jsonrpc":"2.0","id":1,"error":{"c\u006fde":1,"m\u0065ssage":"x"}}`, framing.Response, `1`, "", ``, ``, `{"c\u006fde":1,"m\u0065ssage":"x"}`},
	{"error with white space", `{"jsonrpc":"2.0","id":1,"error":{ "code" : 1 , "message" : "x" }}`, framing.Response, `1`, "", ``, ``, `{ "code" : 1 , "message" : "x" }`},
	{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, framing.Invalid, `1`, "", ``, ``, `{"message":"x"}`},
	{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, framing.Invalid, `1`, "", ``, ``, `{"code":1}`},
	{"error with code in a string", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}`, framing.Invalid, `1`, "", ``, ``, `{"code":"1","message":"x"}`},
	{"error with a fraction as code", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, framing.Invalid, `1`, "", ``, ``, `{"code":1.5,"message":"x"}`},
	{"error with message null", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}`, framing.Invalid, `1`, "", ``, ``, `{"code":1,"message":null}`},
	{"error with names in capitals", `{"jsonrpc":"2.0","id":1,"error":{"Code":1,"Message":"x"}}`, framing.Invalid, `1`, "", ``, ``, `{"Code":1,"Message":"x"}`},
	{"error with code deeper", `{"jsonrpc":"2.0","id":1,"error":{"data":{"code":1},"message":"x"}}`, framing.Invalid, `1`, "", ``, ``, `{"data":{"code":1},"message":"x"}`},
	{"error with repeated members, the first count", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","code":"y","message":2}}`, framing.Response, `1`, "", ``, ``, `{"code":1,"message":"x","code":"y","message":2}`},
	{"error with a repeated message, the first is bad", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":2,"message":"x"}}`, framing.Invalid, `1`, "", ``, ``, `{"code":1,"message":2,"message":"x"}`},
	{"error with a repeated code, the first is bad", `{"jsonrpc":"2.0","id":1,"error":{"code":"y","code":1,"message":"x"}}`, framing.Invalid, `1`, "", ``, ``, `{"code":"y","code":1,"message":"x"}`},
	{"error empty", `{"jsonrpc":"2.0","id":1,"error":{}}`, framing.Invalid, `1`, "", ``, ``, `{}`},

	{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, framing.Batch, ``, "", ``, ``, ``},
	{"batch of scalars", `[1,2]`, framing.Batch, ``, "", ``, ``, ``},
	{"batch of an empty array", `[[]]`, framing.Batch, ``, "", ``, ``, ``},
	{"batch with white space", ` [ 1 ] `, framing.Batch, ``, "", ``, ``, ``},
	{"empty array", `[]`, framing.Invalid, ``, "", ``, ``, ``},
	{"empty array with white space", ` [ ` + "\t\r" + ` ] `, framing.Invalid, ``, "", ``, ``, ``},
	{"empty object", `{}`, framing.Invalid, ``, "", ``, ``, ``},
	{"string", `"method"`, framing.Invalid, ``, "", ``, ``, ``},
	{"number", `12`, framing.Invalid, ``, "", ``, ``, ``},
	{"null", `null`, framing.Invalid, ``, "", ``, ``, ``},
	{"true", ` true `, framing.Invalid, ``, "", ``, ``, ``},
}

func TestEnvelopeRules(t *testing.T) {
	for _, tt := range envelopes {
		t.Run(tt.name, func(t *testing.T) {
			s := stream{in: tt.line + "\n"}
			got := readEveryWay(t, s)
			want := entry{Kind: tt.kind, Line: tt.line, ID: tt.id, Method: tt.method, Params: tt.params, Result: tt.result, Error: tt.errObject}
			if tt.kind == framing.Invalid {
				want.Class = framing.ErrInvalidMessage
			}
			if len(got) != 1 {
				t.Fatalf("Feed(%q) = %d entries, want one", s.in, len(got))
			}
			e := got[0]
			e.Offset, e.Reason = 0, ""
			if e != want {
				t.Errorf("Feed(%q)\n got %s\nwant %s", s.in, list(got), list([]entry{want}))
			}
			if diff := compareWithOracle(s, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whoever sent a broken request, or a broken response, is told which: so the members must be there, whatever is wrong with them.
func TestEnvelopeRules_BrokenErrorIsSeen(t *testing.T) {
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`, `{"jsonrpc":"2.0","id":true,"error":{"code":1,"message":""}}`} {
		if m := readOne(t, []byte(line+"\n")); m.Kind != framing.Invalid || m.ErrorObject == nil || m.Method != "" {
			t.Errorf("Feed(%q) = %+v, want an invalid response that shows its error", line, snapshot(m))
		}
	}
}

// cases.jsonl holds small streams after public reports of what went wrong elsewhere.
func TestCases(t *testing.T) {
	for _, c := range loadCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			s := c.stream()
			got := readEveryWay(t, s)
			if len(got) != len(c.Want) {
				t.Fatalf("read %.300q\n got %d entries:%.2000s\nwant %d", s.in, len(got), list(got), len(c.Want))
			}
			for i := range c.Want {
				c.checkEntry(t, i, got[i])
			}
			if diff := compareWithOracle(s, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (c testCase) checkEntry(t *testing.T, i int, got entry) {
	t.Helper()
	kind := strings.Replace(got.Kind.String(), "malformed", "parse_error", 1)
	if c.Kinds != nil && kind != c.Kinds[i] {
		t.Errorf("entry %d is %s, want %s: %.300q", i, kind, c.Kinds[i], got.Line)
	}
	switch want := c.Want[i]; {
	case want.TooLong && got.Class != framing.ErrTooLong:
		t.Errorf("entry %d: class %v, want ErrTooLong", i, got.Class)
	case want.ParseError != nil && (got.Kind != framing.Malformed || got.Line != *want.ParseError):
		t.Errorf("entry %d is %s %.300q, want a parse error of %.300q", i, kind, got.Line, *want.ParseError)
	case want.ParseErrorB64 != nil && (got.Kind != framing.Malformed || got.Line != string(want.ParseErrorB64)):
		t.Errorf("entry %d is %s %.300q, want a parse error of %.300q", i, kind, got.Line, want.ParseErrorB64)
	case want.Message != nil && (got.Kind == framing.Malformed || !sameJSON([]byte(got.Line), want.Message)):
		t.Errorf("entry %d is %s %.300q, want the message %.300s", i, kind, got.Line, want.Message)
	}
}

// The made-up session is what a newcomer looks at first: it must stay what the README says of it.
func TestSession(t *testing.T) {
	in, err := os.ReadFile("testdata/session.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	s := stream{in: string(in)}
	got := readEveryWay(t, s)
	kinds := map[framing.Kind]int{}
	for _, e := range got {
		kinds[e.Kind]++
	}
	want := map[framing.Kind]int{framing.Malformed: 10, framing.Invalid: 2, framing.Request: 8, framing.Notification: 4, framing.Response: 8, framing.Batch: 1}
	if !reflect.DeepEqual(kinds, want) {
		t.Errorf("kinds in session.ndjson = %v, want %v%s", kinds, want, list(got))
	}
	if diff := compareWithOracle(s, got); diff != "" {
		t.Error(diff)
	}
}

func TestKind_String(t *testing.T) {
	for kind, want := range map[framing.Kind]string{
		framing.Malformed: "malformed", framing.Invalid: "invalid", framing.Request: "request",
		framing.Notification: "notification", framing.Response: "response", framing.Batch: "batch",
	} {
		if got := kind.String(); got != want {
			t.Errorf("Kind(%d).String() = %q, want %q", uint8(kind), got, want)
		}
	}
	if got := framing.Kind(77).String(); !strings.Contains(got, "77") {
		t.Errorf("Kind(77).String() = %q, want the number in it", got)
	}
}

func TestLineError(t *testing.T) {
	m := readOne(t, []byte("{\"a\":NaN}\n"))
	var lineErr *framing.LineError
	if !errors.As(m.Err, &lineErr) || lineErr.Unwrap() != framing.ErrSyntax || !errors.Is(m.Err, framing.ErrSyntax) {
		t.Fatalf("Err = %#v, want a *LineError that wraps ErrSyntax", m.Err)
	}
	for _, part := range []string{lineErr.Reason, "5"} {
		if !strings.Contains(m.Err.Error(), part) {
			t.Errorf("Error() = %q, want %q in it", m.Err.Error(), part)
		}
	}
}

func TestMessage_Value(t *testing.T) {
	for _, tt := range []struct {
		name string
		line string
		want any
	}{
		{"object", `{"a":1,"b":[true,false,null,"x"],"c":{}}`, map[string]any{"a": json.Number("1"), "b": []any{true, false, nil, "x"}, "c": map[string]any{}}},
		{"numbers stay exact", `[9007199254740993,-0,1e400,0.1000,123456789012345678901234567890]`,
			[]any{json.Number("9007199254740993"), json.Number("-0"), json.Number("1e400"), json.Number("0.1000"), json.Number("123456789012345678901234567890")}},
		{"string", ` "a\u0062\n" `, "ab\n"},
		{"lone surrogate", `"\ud83dx"`, "\ufffdx"},
		{"null", `null`, nil},
		{"empty array", `[]`, []any{}},
		{"repeated member, the last counts", `{"a":1,"a":2}`, map[string]any{"a": json.Number("2")}},
		{"bad line", `not json`, map[string]any{"parse_error": "not json"}},
		{"not UTF-8", "\"\xff\"", map[string]any{"parse_error": "\"\xff\""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readOne(t, []byte(tt.line+"\n")).Value(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Value() of %q = %#v, want %#v", tt.line, got, tt.want)
			}
		})
	}
}

func TestMessage_ValueOfAnOverLongLine(t *testing.T) {
	r := framing.LineReader{MaxLine: 10}
	m := r.Feed([]byte(`{"id":1,"x":"abc"}` + "\n"))[0]
	if got, want := m.Value(), (map[string]any{"parse_error": `{"id":1,"x":"abc"}`}); !reflect.DeepEqual(got, want) {
		t.Errorf("Value() = %#v, want %#v", got, want)
	}
}

func TestMessage_Batch(t *testing.T) {
	const line = ` [ {"jsonrpc":"2.0","id":1,"method":"a"} , {"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"x","result":[1,{"y":"]"}]}, 1 , "],[" , [2] , [], {"jsonrpc":"2.0","id":5,"method":5} , {"jsonrpc":"2.0","id":1,"id":2,"method":"c"}, null ] `
	want := []entry{
		{Kind: framing.Request, Line: `{"jsonrpc":"2.0","id":1,"method":"a"}`, ID: `1`, Method: "a"},
		{Kind: framing.Notification, Line: `{"jsonrpc":"2.0","method":"b"}`, Method: "b"},
		{Kind: framing.Response, Line: `{"jsonrpc":"2.0","id":"x","result":[1,{"y":"]"}]}`, ID: `"x"`, Result: `[1,{"y":"]"}]`},
		invalid(`1`),
		invalid(`"],["`),
		invalid(`[2]`), // JSON-RPC 2.0 section 6 knows no batch in a batch
		invalid(`[]`),
		{Kind: framing.Invalid, Line: `{"jsonrpc":"2.0","id":5,"method":5}`, ID: `5`, Class: framing.ErrInvalidMessage},
		{Kind: framing.Invalid, Line: `{"jsonrpc":"2.0","id":1,"id":2,"method":"c"}`, ID: `1`, Method: "c", Class: framing.ErrInvalidMessage},
		invalid(`null`),
	}
	m := readOne(t, []byte(line+"\n"))
	elems := slices.Collect(m.Batch())
	got := checkOwnership(t, append(elems, m), snapshotAll(append(elems, m)))[:len(elems)]
	if len(got) != len(want) {
		t.Fatalf("Batch() of %s = %d messages, want %d", line, len(got), len(want))
	}
	for i, e := range got {
		e.Offset, e.Reason, want[i].Offset = 0, "", 0
		if e != want[i] {
			t.Errorf("element %d of Batch()\n got %s\nwant %s", i, list(got[i:i+1]), list(want[i:i+1]))
		}
	}
	for range m.Batch() {
		break // a loop may end early
	}
}

func TestMessage_BatchOfOthers(t *testing.T) {
	for _, line := range []string{ping, `[]`, `1`, `not json`, `[1`} {
		for elem := range readOne(t, []byte(line+"\n")).Batch() {
			t.Errorf("Batch() of %s gives %+v, want nothing", line, snapshot(elem))
		}
	}
	for elem := range (framing.Message{}).Batch() {
		t.Errorf("Batch() of the zero Message gives %+v, want nothing", snapshot(elem))
	}
}

func TestMessage_MarshalJSONOfReceived(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"a message is its line", ping, ping},
		{"an invalid one too", `{"id":1.50,"x":1e400}`, `{"id":1.50,"x":1e400}`},
		{"a batch too", `[1,{"a":"b"}]`, `[1,{"a":"b"}]`},
		{"a bad line is a parse error", "not \"json\"\t<&>", `{"parse_error":"not \"json\"\t<&>"}`},
		{"a bad line that is not UTF-8", "caf\xe9!", "{\"parse_error\":\"caf\ufffd!\"}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := readOne(t, []byte(tt.line+"\n"))
			for name, encode := range map[string]func(any) ([]byte, error){"Encode": framing.Encode, "json.Marshal": json.Marshal} {
				for what, v := range map[string]any{"Message": m, "*Message": &m} {
					got, err := encode(v)
					if err != nil || !sameJSON(got, []byte(tt.want)) {
						t.Errorf("%s(%s of %q) = %q, %v, want %s", name, what, tt.line, got, err, tt.want)
					}
				}
			}
			got, err := framing.Encode(m)
			if err != nil {
				t.Fatalf("Encode(Message of %q): %v", tt.line, err)
			}
			checkFrame(t, got)
		})
	}
}

var composed = []struct {
	name string
	m    framing.Message
	want string // "" for an error
}{
	{"request", framing.Message{ID: raw(`1`), Method: "m", Params: raw(`{"a": 1}`)}, `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`},
	{"request without params", framing.Message{ID: raw(`"x"`), Method: "m"}, `{"jsonrpc":"2.0","id":"x","method":"m"}`},
	{"request with array params", framing.Message{ID: raw(`-0`), Method: "m", Params: raw(` [1, 2] `)}, `{"jsonrpc":"2.0","id":-0,"method":"m","params":[1,2]}`},
	{"request with a large id", framing.Message{ID: raw(`9007199254740993`), Method: "m"}, `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`},
	{"notification", framing.Message{Method: "notifications/initialized"}, `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
	{"method that needs escapes", framing.Message{Method: "a\"\\\n<\u2028\x00\u00e9"}, "{\"jsonrpc\":\"2.0\",\"method\":\"a\\\"\\\\\\n<\\u2028\\u0000\u00e9\"}"},
	{"method with a line separator", framing.Message{Method: "a\u2028b"}, `{"jsonrpc":"2.0","method":"a\u2028b"}`},
	{"method in another script", framing.Message{Method: "\u00e9\u0085"}, "{\"jsonrpc\":\"2.0\",\"method\":\"\u00e9\\u0085\"}"},
	{"result", framing.Message{ID: raw(`1`), Result: raw("{\n}")}, `{"jsonrpc":"2.0","id":1,"result":{}}`},
	{"result null", framing.Message{ID: raw(`1`), Result: raw("null")}, `{"jsonrpc":"2.0","id":1,"result":null}`},
	{"result with a line separator", framing.Message{ID: raw(`1`), Result: raw("\"a\u2028b\u2029c\u0085\"")}, `{"jsonrpc":"2.0","id":1,"result":"a\u2028b\u2029c\u0085"}`},
	{"result that is not UTF-8", framing.Message{ID: raw(`1`), Result: raw("\"a\xffb\"")}, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\ufffdb\"}"},
	{"error", framing.Message{ID: raw(`1`), ErrorObject: raw(`{"code":1,"message":"x"}`)}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`},
	{"error with id null", framing.Message{ID: raw(`null`), ErrorObject: raw(`{"code":1,"message":"x"}`)}, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`},

	{"error with the id of an invalid request", framing.Message{ID: raw(`1.5`), ErrorObject: raw(`{"code":1,"message":"x"}`)}, `{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"x"}}`},

	{"nothing", framing.Message{}, ``},
	{"error with id true", framing.Message{ID: raw(`true`), ErrorObject: raw(`{"code":1,"message":"x"}`)}, ``},
	{"error with id an object", framing.Message{ID: raw(`{}`), ErrorObject: raw(`{"code":1,"message":"x"}`)}, ``},
	{"error with id empty", framing.Message{ID: raw(``), ErrorObject: raw(`{"code":1,"message":"x"}`)}, ``},
	{"result with id a fraction", framing.Message{ID: raw(`1.5`), Result: raw(`1`)}, ``},
	{"id alone", framing.Message{ID: raw(`1`)}, ``},
	{"params alone", framing.Message{Params: raw(`{}`)}, ``},
	{"result and error", framing.Message{ID: raw(`1`), Result: raw(`1`), ErrorObject: raw(`{"code":1,"message":"x"}`)}, ``},
	{"method and result", framing.Message{ID: raw(`1`), Method: "m", Result: raw(`1`)}, ``},
	{"method and error", framing.Message{ID: raw(`1`), Method: "m", ErrorObject: raw(`{"code":1,"message":"x"}`)}, ``},
	{"result without id", framing.Message{Result: raw(`1`)}, ``},
	{"result with id null", framing.Message{ID: raw(`null`), Result: raw(`1`)}, ``},
	{"request with id null", framing.Message{ID: raw(`null`), Method: "m"}, ``},
	{"id true", framing.Message{ID: raw(`true`), Method: "m"}, ``},
	{"id an object", framing.Message{ID: raw(`{}`), Method: "m"}, ``},
	{"id a fraction", framing.Message{ID: raw(`1.5`), Method: "m"}, ``},
	{"id not JSON", framing.Message{ID: raw(`01`), Method: "m"}, ``},
	{"id of two values", framing.Message{ID: raw(`1,"x":2`), Method: "m"}, ``},
	{"id a string that does not end", framing.Message{ID: raw(`"a`), Method: "m"}, ``},
	{"id empty", framing.Message{ID: raw(``), Method: "m"}, ``},
	{"params a string", framing.Message{Method: "m", Params: raw(`"x"`)}, ``},
	{"params a number", framing.Message{Method: "m", Params: raw(`1`)}, ``},
	{"params not JSON", framing.Message{Method: "m", Params: raw(`{"a":}`)}, ``},
	{"params of two values", framing.Message{Method: "m", Params: raw(`{},"id":1`)}, ``},
	{"params cut off", framing.Message{Method: "m", Params: raw(`{"a":1`)}, ``},
	{"params empty", framing.Message{Method: "m", Params: raw(``)}, ``},
	{"params too deep", framing.Message{Method: "m", Params: raw(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))}, ``},
	{"result not JSON", framing.Message{ID: raw(`1`), Result: raw(`NaN`)}, ``},
	{"result of two values", framing.Message{ID: raw(`1`), Result: raw(`1 2`)}, ``},
	{"result empty", framing.Message{ID: raw(`1`), Result: raw(``)}, ``},
	{"error without code", framing.Message{ID: raw(`1`), ErrorObject: raw(`{"message":"x"}`)}, ``},
	{"error without message", framing.Message{ID: raw(`1`), ErrorObject: raw(`{"code":1}`)}, ``},
	{"error a string", framing.Message{ID: raw(`1`), ErrorObject: raw(`"x"`)}, ``},
	{"error not JSON", framing.Message{ID: raw(`1`), ErrorObject: raw(`{"code":1,"message":"x"`)}, ``},
}

func TestMessage_MarshalJSONOfComposed(t *testing.T) {
	for _, tt := range composed {
		t.Run(tt.name, func(t *testing.T) {
			for what, v := range map[string]any{"Message": tt.m, "*Message": &tt.m} {
				frame, err := framing.Encode(v)
				if tt.want == "" {
					if err == nil {
						t.Errorf("Encode(%s) = %.100q, want an error", what, frame)
					}
					continue
				}
				if err != nil || string(frame) != tt.want+"\n" {
					t.Errorf("Encode(%s) = %q, %v, want %q", what, frame, err, tt.want+"\n")
				}
				checkFrame(t, frame)
			}
			text, err := json.Marshal(tt.m)
			if tt.want == "" && err == nil || tt.want != "" && !sameJSON(text, []byte(tt.want)) {
				t.Errorf("json.Marshal(Message) = %.100q, %v, want %q", text, err, tt.want)
			}
		})
	}
}

// An error reply to a line whose id could not be read may come with "id":null or without an id; both are responses.
func TestMessage_MarshalJSONOfErrorWithoutID(t *testing.T) {
	frame, err := framing.Encode(framing.Message{ErrorObject: raw(`{"code":-32700,"message":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if m := readOne(t, frame); m.Kind != framing.Response || string(m.ErrorObject) != `{"code":-32700,"message":"x"}` {
		t.Errorf("Encode of an error without id = %q, which reads as %v, want a response", frame, m.Kind)
	}
}

// encodeFrames are values and their frames, without the newline.
var encodeFrames = []struct {
	name string
	v    any
	want string // "" for an error
}{
	{"rule 1: newline in a string", map[string]any{"a": "line1\nline2", "id": 1}, `{"a":"line1\nline2","id":1}`},
	{"rule 1: control characters", "\x00\x1f\x7f", "\"\\u0000\\u001f\x7f\""},
	{"rule 1: BOM in a string", bom, "\"" + bom + "\""},
	{"rule 1: nil", nil, `null`},
	{"rule 1: struct", struct {
		A int `json:"a"`
		B []string
	}{1, []string{"x"}}, `{"a":1,"B":["x"]}`},
	{"rule 1: raw JSON over several lines", raw("{\r\n\t\"a\": [ 1,\n 2 ]\n}\n"), `{"a":[1,2]}`},
	{"rule 1: string with spaces", raw(`{ "a b" : " c " }`), `{"a b":" c "}`},
	{"rule 2: no HTML escapes", "<a>&</a>", `"<a>&</a>"`},
	{"rule 2: no HTML escapes in a struct", struct{ HTML string }{"<&>"}, `{"HTML":"<&>"}`},
	{"rule 2: raw HTML characters", raw(`"<&>"`), `"<&>"`},
	{"rule 2: HTML characters escaped by others stay", raw(`"\u003c"`), `"\u003c"`},
	{"rule 2: line separators", "a\u2028b\u2029c\u0085d", `"a\u2028b\u2029c\u0085d"`},
	{"rule 2: line separators in raw JSON", raw("{\"\u2028\":\"\u2029\u0085\"}"), `{"\u2028":"\u2029\u0085"}`},
	{"rule 2: line separators in a map's key", map[string]int{"\u2028": 1}, `{"\u2028":1}`},
	{"rule 2: neighbours of the line separators", "\u2027\u202a\u0084\u0086\u00c2", "\"\u2027\u202a\u0084\u0086\u00c2\""},
	{"rule 2: line separators behind their neighbours", "\u2014\u2027\u2029\u00a0\u00c2\u0085", `"` + "\u2014\u2027" + `\u2029` + "\u00a0\u00c2" + `\u0085"`},
	{"rule 2: other scripts stay", raw("\"\u00e9\u20ac\U0001f389\""), "\"\u00e9\u20ac\U0001f389\""},
	{"rule 2: escapes in raw JSON stay", raw(`"\u00e9\ud83d\/\b"`), `"\u00e9\ud83d\/\b"`},
	{"rule 2: numbers in raw JSON stay", raw(`[9007199254740993,1e400,-0,1.50]`), `[9007199254740993,1e400,-0,1.50]`},
	{"rule 2: repeated members in raw JSON stay", raw(`{"a":1,"a":2}`), `{"a":1,"a":2}`},
	{"rule 2: a Marshaler", marshaler(" {\"a\" :\n\"\u2028\"} "), `{"a":"\u2028"}`},
	{"rule 2: raw JSON within", map[string]any{"r": raw(" [ 1 ]\n")}, `{"r":[1]}`},
	{"rule 3: NaN", math.NaN(), ``},
	{"rule 3: infinity", []float64{math.Inf(-1)}, ``},
	{"rule 3: channel", make(chan int), ``},
	{"rule 3: function", func() {}, ``},
	{"rule 3: cycle", cycle(), ``},
	{"rule 3: raw JSON that is none", raw(`{"a":}`), ``},
	{"rule 3: raw JSON of two texts", raw(`1 2`), ``},
	{"rule 3: raw JSON cut off", raw(`[1`), ``},
	{"rule 3: raw JSON with a raw control", raw("\"a\nb\""), ``},
	{"rule 3: raw JSON without a byte", raw(``), ``},
	{"rule 3: raw JSON of white space", raw(` `), ``},
	{"rule 3: raw JSON with a BOM", raw(bom + `1`), ``},
	{"rule 3: raw JSON within that is none", []any{raw(`x`)}, ``},
	{"rule 3: a Marshaler that gives none", marshaler(`{"a"`), ``},
	{"rule 3: a Marshaler that fails", failing{}, ``},
	{"rule 3: raw JSON too deep", raw(strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)), ``},
}

func TestEncodeRules(t *testing.T) {
	for _, tt := range encodeFrames {
		t.Run(tt.name, func(t *testing.T) {
			got, err := framing.Encode(tt.v)
			if tt.want == "" {
				if err == nil || len(got) != 0 {
					t.Errorf("Encode(%#v) = %.100q, %v, want nothing and an error", tt.v, got, err)
				}
				return
			}
			if err != nil || string(got) != tt.want+"\n" {
				t.Fatalf("Encode(%#v) = %q, %v, want %q", tt.v, got, err, tt.want+"\n")
			}
			checkFrame(t, got)
		})
	}
}

// An error of encoding names the member and the fault, and guesses nothing about lines.
func TestEncodeRules_Reasons(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		v          any
	}{
		{"empty", "the value is not JSON: byte 0: there is nothing but white space", raw(``)},
		{"white space", "Params is not JSON: byte 1: there is nothing but white space", framing.Message{Method: "m", Params: raw("\n")}},
		{"cut off", "Params is not JSON: byte 5: it ends inside a JSON text", framing.Message{Method: "m", Params: raw(`{"a":`)}},
		{"a word", `Result is not JSON: byte 0: text, not JSON: "ready"`, framing.Message{ID: raw(`1`), Result: raw(`ready`)}},
		{"text behind", `the value is not JSON: byte 2: text after the JSON: "ready"`, raw(`1 ready`)},
		{"a colon behind", `the value is not JSON: byte 3: ':' after a complete JSON text`, raw(`"a":1`)},
		{"text before", `the value is not JSON: byte 0: text before the JSON: "INFO "`, raw(`INFO {}`)},
		{"a bracket", `the value is not JSON: byte 0: '}' at the start`, raw(`}`)},
		{"too deep", "Params is not JSON: byte 9999: nested deeper than 10000 levels", framing.Message{Method: "m", Params: raw(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))}},
	} {
		if _, err := framing.Encode(tt.v); err == nil || err.Error() != "framing: "+tt.want {
			t.Errorf("Encode(%s) = %v, want framing: %s", tt.name, err, tt.want)
		}
	}
}

// How many U+FFFD stand for a broken sequence is left open; that they do, and that the rest is kept, is not.
func TestEncodeRules_InvalidUTF8(t *testing.T) {
	for _, broken := range []string{"\xff", "\xe2\x82", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\x80", "\xf0\x9f\x8e"} {
		text := "a" + broken + "b\u00e9"
		for name, v := range map[string]any{
			"string": text, "method": framing.Message{Method: text}, "raw JSON": raw(`"` + text + `"`), "Marshaler": marshaler(`"` + text + `"`), "bytes of a Message": framing.Message{ID: raw(`1`), Result: raw(`"` + text + `"`)},
		} {
			frame, err := framing.Encode(v)
			if err != nil {
				t.Errorf("rule 2: Encode(%s %q): %v", name, text, err)
				continue
			}
			checkFrame(t, frame)
			got := decode(frame)
			if object, ok := got.(map[string]any); ok {
				if got = object["result"]; got == nil {
					got = object["method"]
				}
			}
			if rest := strings.ReplaceAll(fmt.Sprint(got), "\ufffd", ""); rest != "ab\u00e9" || rest == got {
				t.Errorf("rule 2: Encode(%s %q) = %q, want U+FFFD between a and b\u00e9", name, text, frame)
			}
		}
	}
}

func TestAppendEncode(t *testing.T) {
	for _, v := range []any{map[string]int{"a": 1}, raw(`{"a": 1}`), framing.Message{Method: "m"}, readOne(t, []byte(ping+"\n"))} {
		frame, err := framing.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range []int{0, 1, len(frame) - 1, len(frame), 1000} {
			dst := append(make([]byte, 0, 4+room), "dst\n"...)
			got, err := framing.AppendEncode(dst, v)
			if err != nil || string(got) != "dst\n"+string(frame) {
				t.Errorf("AppendEncode(dst, %#v) with room for %d = %q, %v, want dst and %q", v, room, got, err, frame)
			}
			if room == 1000 && &got[0] != &dst[0] {
				t.Errorf("AppendEncode(dst, %#v) with room for %d: not in place", v, room)
			}
		}
	}
	for _, tt := range encodeFrames {
		if tt.want != "" {
			continue
		}
		dst := append(make([]byte, 0, 1000), "dst"...)
		if got, err := framing.AppendEncode(dst, tt.v); err == nil || string(got) != "dst" || &got[0] != &dst[0] {
			t.Errorf("%s: AppendEncode = %q, %v, want dst and an error", tt.name, got, err)
		}
	}
	for _, tt := range composed {
		dst := append(make([]byte, 0, 1000), "dst"...)
		if got, err := framing.AppendEncode(dst, &tt.m); (tt.want == "") != (err != nil) || err != nil && string(got) != "dst" {
			t.Errorf("%s: AppendEncode = %.100q, %v", tt.name, got, err)
		}
	}
}

func TestAppendEncode_Allocations(t *testing.T) {
	buf := make([]byte, 0, 1<<20)
	large := raw(`{"text":"` + strings.Repeat("some \\n text \u2028 ", 8000) + `"}`)
	received := readOne(t, []byte(ping+"\n"))
	for _, tt := range []struct {
		name string
		m    *framing.Message
	}{
		{"request", &framing.Message{ID: raw(`1`), Method: "tools/call", Params: raw(`{"name":"x","arguments":{"a":[1,2,3]}}`)}},
		{"notification", &framing.Message{Method: "notifications/initialized"}},
		{"large result", &framing.Message{ID: raw(`"x"`), Result: large}},
		{"error", &framing.Message{ID: raw(`1`), ErrorObject: raw(`{"code":1,"message":"x"}`)}},
		{"received", &received},
	} {
		t.Run(tt.name, func(t *testing.T) {
			allocs := testing.AllocsPerRun(100, func() {
				if _, err := framing.AppendEncode(buf, tt.m); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("AppendEncode: %v allocations, want none", allocs)
			}
		})
	}
}

func TestWriter_OneWriteForAFrame(t *testing.T) {
	var sink recorder
	w := framing.NewWriter(&sink)
	for _, v := range []any{framing.Message{Method: "a"}, raw("{\n}"), strings.Repeat("x", 1<<20)} {
		if err := w.WriteMessage(v); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`{"jsonrpc":"2.0","method":"a"}` + "\n", "{}\n", `"` + strings.Repeat("x", 1<<20) + `"` + "\n"}
	if !slices.Equal(sink.writes, want) {
		t.Errorf("%d writes %.200q, want the three frames, each in one", len(sink.writes), sink.writes)
	}
}

func TestWriter_EncodingErrors(t *testing.T) {
	var sink recorder
	w := framing.NewWriter(&sink)
	for _, tt := range encodeFrames {
		if tt.want != "" {
			continue
		}
		if err := w.WriteMessage(tt.v); err == nil {
			t.Errorf("%s: WriteMessage(%#v) = nil, want an error", tt.name, tt.v)
		}
	}
	if len(sink.writes) != 0 {
		t.Errorf("rule 3: writes after encoding errors = %.200q, want none", sink.writes)
	}
	if err := w.WriteMessage(1); err != nil || !slices.Equal(sink.writes, []string{"1\n"}) {
		t.Errorf("rule 3: WriteMessage(1) after encoding errors = %v, %q, want one write", err, sink.writes)
	}
}

func TestWriter_StickyError(t *testing.T) {
	errPipe := errors.New("broken pipe")
	for _, tt := range []struct {
		name string
		n    int
		err  error
		want error
	}{
		{"rule 4: failed write", 0, errPipe, errPipe},
		{"rule 4: short write with an error", 2, errPipe, errPipe},
		{"rule 4: short write without", 2, nil, io.ErrShortWrite},
		{"rule 4: nothing written, no error", 0, nil, io.ErrShortWrite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink := &recorder{answers: []answer{{n: 1000}, {tt.n, tt.err}}}
			w := framing.NewWriter(sink)
			if err := w.WriteMessage("first"); err != nil {
				t.Fatal(err)
			}
			for _, v := range []string{"second", "third", "fourth"} {
				if err := w.WriteMessage(v); !errors.Is(err, tt.want) {
					t.Errorf("WriteMessage(%q) = %v, want %v", v, err, tt.want)
				}
			}
			if len(sink.writes) != 2 {
				t.Errorf("writes = %q, want none after the failed one", sink.writes)
			}
			if err := w.WriteMessage(math.NaN()); err == nil {
				t.Error("WriteMessage(NaN) = nil, want an error")
			}
		})
	}
}

// While one goroutine is inside Write, the frames of the others gather, and go out in the next.
func TestWriter_Gathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &gate{answers: make(chan answer)}
		w := framing.NewWriter(gate)
		results := make([]error, 6)
		var wg sync.WaitGroup
		write := func(i int) {
			wg.Go(func() { results[i] = w.WriteMessage(fmt.Sprint("frame ", i)) })
			synctest.Wait() // until it is inside Write, or waits for who is
		}
		for i := range 4 {
			write(i)
		}
		gate.answers <- answer{n: 1000}
		synctest.Wait() // the second Write is on its way, with the frames 1 to 3
		write(4)
		write(5)
		gate.answers <- answer{n: 1000}
		gate.answers <- answer{n: 1000}
		wg.Wait()
		want := []string{"\"frame 0\"\n", "\"frame 1\"\n\"frame 2\"\n\"frame 3\"\n", "\"frame 4\"\n\"frame 5\"\n"}
		if !slices.Equal(gate.writes, want) {
			t.Errorf("rule 4: writes = %q, want %q", gate.writes, want)
		}
		if err := errors.Join(results...); err != nil {
			t.Errorf("rule 4: WriteMessage = %v, want no error", err)
		}
	})
}

// Each caller gets his own result: whose frame was whole before the write broke off has written it.
func TestWriter_GathersUntilItBreaks(t *testing.T) {
	errPipe := errors.New("broken pipe")
	synctest.Test(t, func(t *testing.T) {
		gate := &gate{answers: make(chan answer)}
		w := framing.NewWriter(gate)
		results := make([]error, 4)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() { results[i] = w.WriteMessage(fmt.Sprint("frame ", i)) })
			synctest.Wait()
		}
		gate.answers <- answer{n: 1000}
		gate.answers <- answer{n: len("\"frame 1\"\n\"fra"), err: errPipe}
		wg.Wait()
		if want := []error{nil, nil, errPipe, errPipe}; !slices.Equal(results, want) {
			t.Errorf("rule 4: WriteMessage = %v, want %v", results, want)
		}
		if err := w.WriteMessage("late"); err != errPipe || len(gate.writes) != 2 {
			t.Errorf("rule 4: WriteMessage after a torn frame = %v in %d writes, want %v in 2", err, len(gate.writes), errPipe)
		}
	})
}

// A slow Marshaler holds up nobody else.
func TestWriter_EncodesOutsideTheLock(t *testing.T) {
	var sink recorder
	w := framing.NewWriter(&sink)
	slow := &slowMarshaler{entered: make(chan bool), leave: make(chan bool)}
	done := make(chan error)
	go func() { done <- w.WriteMessage(slow) }()
	<-slow.entered
	if err := w.WriteMessage("fast"); err != nil {
		t.Error(err)
	}
	close(slow.leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if want := []string{"\"fast\"\n", "\"slow\"\n"}; !slices.Equal(sink.writes, want) {
		t.Errorf("rule 4: writes = %q, want %q", sink.writes, want)
	}
}

// The Writer is often shared by hundreds of handlers.
func TestWriter_Concurrent(t *testing.T) {
	const writers, each = 50, 200
	var sink recorder
	w := framing.NewWriter(&sink)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range each {
				if err := w.WriteMessage([]any{g, i, strings.Repeat("x", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var next [writers]int
	var r framing.LineReader
	for _, m := range r.Feed([]byte(strings.Join(sink.writes, ""))) {
		var g, i int
		if err := json.Unmarshal(m.Line, &[]any{&g, &i, new(string)}); err != nil {
			t.Fatalf("frame %.100q: %v", m.Line, err)
		}
		if next[g] != i {
			t.Errorf("frame %d of writer %d comes when %d was next", i, g, next[g])
		}
		next[g] = i + 1
	}
	for g, n := range next {
		if n != each {
			t.Errorf("%d frames of writer %d, want %d", n, g, each)
		}
	}
}

// A large frame is not kept once it is written.
func TestWriter_Memory(t *testing.T) {
	before := heapInUse()
	w := framing.NewWriter(io.Discard)
	for range 3 {
		text := raw(`"` + strings.Repeat("x", 8<<20) + `"`) // raw, since encoding/json keeps large buffers of its own
		if err := w.WriteMessage(text); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC() // once: a second one would empty the pools, where a large frame must not be either
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if held := int(after.HeapAlloc) - before; held > slack {
		t.Errorf("Writer holds %d bytes after large frames, want at most %d", held, slack)
	}
	if err := w.WriteMessage(1); err != nil {
		t.Fatal(err)
	}
}

// ---- Helpers ----

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// cycle returns a value that contains itself.
func cycle() any {
	type node struct{ Next *node }
	n := new(node)
	n.Next = n
	return n
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

type slowMarshaler struct{ entered, leave chan bool }

func (s *slowMarshaler) MarshalJSON() ([]byte, error) {
	s.entered <- true
	<-s.leave
	return []byte(`"slow"`), nil
}

// answer is what a Write returns: at most n bytes, and err.
type answer struct {
	n   int
	err error
}

// recorder keeps what each Write was given, and answers as told; then all is well. It poisons nothing and keeps nothing of p.
type recorder struct {
	answers []answer
	writes  []string
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	if len(r.answers) == 0 {
		return len(p), nil
	}
	now := r.answers[0]
	r.answers = r.answers[1:]
	return min(len(p), now.n), now.err
}

// gate is a recorder whose Write waits for its answer.
type gate struct {
	answers chan answer
	writes  []string
}

func (g *gate) Write(p []byte) (int, error) {
	g.writes = append(g.writes, string(bytes.Clone(p)))
	now := <-g.answers
	return min(len(p), now.n), now.err
}

// Line is the caller's, who may have changed it: Batch must not panic then.
func TestMessage_BatchOfAChangedLine(t *testing.T) {
	for _, line := range []string{"", "!", "[", "[[", "\"", "[\"", `[{"id":`, "[1", "[1,", "{}", "null"} {
		m := framing.Message{Kind: framing.Batch, Line: []byte(line)}
		n := 0
		for range m.Batch() {
			n++
		}
		if n > 1 {
			t.Errorf("Batch() of the line %q yields %d messages, want one at most", line, n)
		}
	}
}
