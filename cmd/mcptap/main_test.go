package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test binary plays three parts besides testing: mcptap itself, and a
// server that follows a script, so that findings are provoked by a real child
// process.
const (
	envMain   = "MCPTAP_TEST_MAIN"   // set: be mcptap
	envScript = "MCPTAP_TEST_SCRIPT" // set: be a server with this script
	envChild  = "MCPTAP_TEST_CHILD"  // the script for mcptap's child
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envScript) != "":
		script := os.Getenv(envScript)
		os.Unsetenv(envScript)
		os.Exit(serve(script))
	case os.Getenv(envMain) != "":
		os.Unsetenv(envMain)
		os.Setenv(envScript, os.Getenv(envChild))
		main()
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child lingers for a second under -race
	os.Exit(m.Run())
}

// A step of a script is a word, or a word and its argument.
type step struct{ Do, Arg string }

func read1() step              { return step{"read", ""} }     // a line from stdin
func write(s string) step      { return step{"write", s} }     // to stdout, in one write
func complain(s string) step   { return step{"stderr", s} }    // to stderr
func echo(answer string) step  { return step{"echo", answer} } // until EOF: answer, %s the id, for each line with an id
func exit(status int) step     { return step{"exit", strconv.Itoa(status)} }
func closing(what string) step { return step{"close", what} } // stdin or stdout
func ignoring() step           { return step{"ignore", ""} }  // SIGTERM and SIGINT, from here on
func hang() step               { return step{"hang", ""} }    // for ever
func hold(fifo string) step    { return step{"hold", fifo} }  // open for writing, until the end
func copyAll() step            { return step{"copy", ""} }    // stdin to stdout until EOF

const pong = `{"jsonrpc":"2.0","id":%s,"result":{}}` + "\n"

// encodeScript makes a script fit for the environment: bytes of any value
// survive in quotes.
func encodeScript(steps []step) string {
	var quoted []step
	for _, s := range steps {
		quoted = append(quoted, step{s.Do, strconv.QuoteToASCII(s.Arg)})
	}
	text, _ := json.Marshal(quoted)
	return string(text)
}

// serve follows a script, reads on until EOF, and returns the exit status.
func serve(script string) int {
	var steps []step
	if err := json.Unmarshal([]byte(script), &steps); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	in := bufio.NewReader(os.Stdin)
	for _, s := range steps {
		arg, err := strconv.Unquote(s.Arg)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 99
		}
		if s.Do == "exit" {
			status, _ := strconv.Atoi(arg)
			return status
		}
		perform(s.Do, arg, in)
	}
	io.Copy(io.Discard, in)
	return 0
}

var held *os.File // by a server

func perform(do, arg string, in *bufio.Reader) {
	switch do {
	case "read":
		in.ReadString('\n')
	case "write":
		os.Stdout.WriteString(arg)
	case "stderr":
		os.Stderr.WriteString(arg)
	case "echo":
		answerEach(in, arg)
	case "close":
		map[string]*os.File{"stdin": os.Stdin, "stdout": os.Stdout}[arg].Close()
	case "ignore":
		ignoreSignals()
	case "hang":
		<-time.After(time.Hour) // a bare select{} is a deadlock, and ends the program
	case "hold":
		held, _ = os.OpenFile(arg, os.O_WRONLY, 0)
	case "copy":
		io.Copy(os.Stdout, in)
	case "spawn": // a child that hangs, with our streams
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), envScript+"="+encodeScript([]step{ignoring(), hang()}))
		child.Stdout = os.Stdout
		child.Start()
	case "repeat":
		n, text, _ := strings.Cut(arg, " ")
		times, _ := strconv.Atoi(n)
		w := bufio.NewWriter(os.Stdout)
		for range times {
			w.WriteString(text)
		}
		w.Flush()
	case "flood":
		for {
			os.Stdout.WriteString(note("flood"))
		}
	}
}

// answerEach answers each line that has an id until EOF.
func answerEach(in *bufio.Reader, answer string) {
	for {
		line, err := in.ReadString('\n')
		var m struct{ ID json.RawMessage }
		if json.Unmarshal([]byte(line), &m) == nil && m.ID != nil {
			os.Stdout.WriteString(strings.ReplaceAll(answer, "%s", string(m.ID)))
		}
		if err != nil {
			return
		}
	}
}
