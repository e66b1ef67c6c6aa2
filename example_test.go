package framing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"example.com/mcp/framing"
)

func Example() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}
Server ready
{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)

	r, w := framing.NewReader(in), framing.NewWriter(os.Stdout)
	for m, err := range r.All() {
		switch {
		case err != nil:
			fmt.Fprintln(os.Stderr, "the stream broke:", err)
		case m.Kind == framing.Request:
			w.WriteMessage(&framing.Message{ID: m.ID, Result: json.RawMessage(`{}`)})
		case m.Err != nil: // framing: not a JSON text: byte 0: text, not JSON: "Server ready"; a log line?
			fmt.Fprintln(os.Stderr, m.Err)
		}
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{}}
	// {"jsonrpc":"2.0","id":9007199254740993,"result":{}}
}

func ExampleLineReader() {
	var r framing.LineReader
	for _, chunk := range []string{
		"{\"id\":1}\n{\"id\"",
		":2}\n{\"id\":3}\nnot json\n",
		"{\"id\":4}",
	} {
		for _, m := range r.Feed([]byte(chunk)) {
			text, _ := json.Marshal(m)
			fmt.Printf("%s ", text)
		}
		fmt.Println("held:", r.Buffered())
	}
	m, ok := r.Flush()
	fmt.Println(string(m.ID), ok)
	// Output:
	// {"id":1} held: 5
	// {"id":2} {"id":3} {"parse_error":"not json"} held: 0
	// held: 8
	// 4 true
}

func ExampleReader_ReadMessage() {
	r := framing.NewReader(strings.NewReader("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n[1]\n"))
	r.MaxLine = 1 << 20
	for {
		m, err := r.ReadMessage()
		if err == io.EOF {
			break
		}
		fmt.Println(m.Kind, m.Method)
	}
	// Output:
	// notification a
	// batch
}

func ExampleMessage_Batch() {
	var r framing.LineReader
	for _, m := range r.Feed([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},2]` + "\n")) {
		for e := range m.Batch() {
			fmt.Println(e.Kind, e.Method)
		}
	}
	// Output:
	// request ping
	// invalid
}

func ExampleMessage_Value() {
	var r framing.LineReader
	for _, m := range r.Feed([]byte("{\"id\":9007199254740993}\noops\n")) {
		fmt.Println(m.Value())
	}
	// Output:
	// map[id:9007199254740993]
	// map[parse_error:oops]
}

func ExampleLineError() {
	var r framing.LineReader
	m := r.Feed([]byte("{\"a\":NaN}\n"))[0]

	var e *framing.LineError
	if errors.As(m.Err, &e) {
		fmt.Printf("%s\n%*s %s\n", m.Line, e.Offset+1, "^", e.Reason)
	}
	fmt.Println(errors.Is(m.Err, framing.ErrSyntax))
	// Output:
	// {"a":NaN}
	//      ^ NaN is no number of JSON (NaN and Infinity are not allowed)
	// true
}

func ExampleEncode() {
	frame, err := framing.Encode(map[string]any{"id": 1, "a": "line1\nline2 <b>\u2028"})
	fmt.Printf("%s%v\n", frame, err)

	_, err = framing.Encode(json.RawMessage(`{"a":01}`))
	fmt.Println(err)
	// Output:
	// {"a":"line1\nline2 <b>\u2028","id":1}
	// <nil>
	// framing: the value is not JSON: byte 6: a number with a leading zero
}

func ExampleAppendEncode() {
	call := framing.Message{Method: "tools/call", Params: json.RawMessage(`{ "name": "echo" }`)}
	buf := make([]byte, 0, 512) // reused, so that nothing is allocated
	for _, id := range []string{`1`, `"two"`} {
		call.ID = json.RawMessage(id)
		buf, _ = framing.AppendEncode(buf[:0], &call)
		os.Stdout.Write(buf)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}
	// {"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"echo"}}
}

func ExampleWriter() {
	w := framing.NewWriter(os.Stdout)
	var wg sync.WaitGroup
	for range 3 { // frames of several goroutines never interleave
		wg.Go(func() { w.WriteMessage(&framing.Message{Method: "notifications/progress"}) })
	}
	wg.Wait()
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/progress"}
	// {"jsonrpc":"2.0","method":"notifications/progress"}
	// {"jsonrpc":"2.0","method":"notifications/progress"}
}
