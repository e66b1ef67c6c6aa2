//go:build unix

package stdio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// children are the programs that the tests start: this test binary, with the name of one in the environment.
var children = map[string]func(){
	"serve": func() {
		err := Serve(context.Background(), testMethods.Handle, nil)
		fmt.Println("after", err) // on stdout again
	},
	"prints": func() {
		Serve(context.Background(), func(ctx context.Context, r *Request) (any, error) {
			fmt.Println("from fmt")
			log.Print("from log")
			print("from print\n")
			os.Stdout.WriteString("from os.Stdout\n")
			syscall.Write(1, []byte("from descriptor 1\n"))
			grandchild := exec.Command("sh", "-c", "echo from a grandchild; read line || echo its stdin is empty")
			grandchild.Stdin, grandchild.Stdout, grandchild.Stderr = os.Stdin, os.Stdout, os.Stderr
			return nil, grandchild.Run()
		}, nil)
		fmt.Println("restored")
		rest, _ := io.ReadAll(os.Stdin)
		fmt.Printf("stdin has %q\n", rest)
	},
	"twice": func() {
		var second error
		Serve(context.Background(), func(ctx context.Context, r *Request) (any, error) {
			second = Serve(ctx, nil, nil)
			return second.Error(), nil
		}, nil)
	},
	"stopped": func() { // Serve ends with its context and leaves the next line to others
		ctx, stop := context.WithCancel(context.Background())
		err := Serve(ctx, func(context.Context, *Request) (any, error) { stop(); return nil, nil }, nil)
		fmt.Println("ended:", err)
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Printf("next: %q\n", line)
	},
	"widowed": func() { // the client goes away
		err := Serve(context.Background(), func(context.Context, *Request) (any, error) {
			log.Print("nobody reads this") // SIGPIPE, if it were not caught
			return nil, nil
		}, nil)
		os.WriteFile(os.Getenv("STDIO_TEST_FILE"), []byte(fmt.Sprint(err)), 0o600)
	},
	"banner": func() {
		fmt.Print("Starting the server\n\nlistening on stdio\n{\"not\": \"for you\"}\n")
		NewConn(os.Stdin, os.Stdout, testMethods.Handle, nil).Run(context.Background())
	},
	"chatty": func() {
		for range 4 << 10 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 1<<10))
		}
		fmt.Fprintln(os.Stderr, "the last line")
		Serve(context.Background(), testMethods.Handle, nil)
	},
	"dies": func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Fprintln(os.Stderr, "first line\nout of luck")
		os.Exit(3)
	},
	"answers and ends": func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Print("bye\n" + strings.Repeat(" ", 32<<10) + `{"jsonrpc":"2.0","id":1,"result":7}` + "\n")
	},
	"fades": func() { // closes its stdout a while before it dies
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Stdout.Close()
		time.Sleep(50 * time.Millisecond)
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	},
	"leaves": func() { // ends well, while its child holds all pipes open
		exec.Command("true").Run()
		child := exec.Command("sleep", "60")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		child.Start()
		fmt.Fprintln(os.Stderr, child.Process.Pid)
		bufio.NewReader(os.Stdin).ReadString('\n')
	},
	"deaf": func() { // closes its stdout and lives on
		os.Stdout.Close()
		io.Copy(io.Discard, os.Stdin)
		os.Exit(4)
	},
	"late": func() { // reads when it may
		io.Copy(io.Discard, os.NewFile(3, "hold"))
		NewConn(os.Stdin, os.Stdout, testMethods.Handle, nil).Run(context.Background())
	},
	"asleep": func() { // reads nothing
		time.Sleep(time.Hour)
	},
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM) // its children inherit that
		child := exec.Command("sleep", "3600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.ExtraFiles = []*os.File{os.NewFile(3, "alive")}
		child.Start()
		NewConn(os.Stdin, os.Stdout, testMethods.Handle, nil).Run(context.Background())
		time.Sleep(time.Hour)
	},
	"polite": func() { // outlives its stdin, but not SIGTERM
		NewConn(os.Stdin, os.Stdout, testMethods.Handle, nil).Run(context.Background())
		time.Sleep(time.Hour)
	},
	"asks": func() { // calls its client back
		Serve(context.Background(), func(ctx context.Context, r *Request) (any, error) {
			var got string
			err := r.Conn.Call(ctx, "roots/list", nil, &got)
			return got, err
		}, nil)
	},
}

func TestMain(m *testing.M) {
	if name := os.Getenv("STDIO_TEST_CHILD"); name != "" {
		children[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns the command of one of children.
func child(t *testing.T, name string) *exec.Cmd {
	if children[name] == nil {
		t.Fatalf("no child %q", name)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STDIO_TEST_CHILD="+name, "GORACE=atexit_sleep_ms=0") // the race detector waits a second at exit
	return cmd
}
