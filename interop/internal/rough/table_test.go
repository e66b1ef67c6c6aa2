package rough

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables into README.md")

// TestReadme keeps the tables of README.md at what the tests of the other packages have observed.
func TestReadme(t *testing.T) {
	const file, begin, end = "../../README.md", "<!-- tables -->\n", "<!-- end of tables -->\n"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables", file)
	}
	if old == Table() {
		return
	}
	if !*update {
		t.Fatalf("the tables in %s are out of date: go test ./internal/rough -update", file)
	}
	if err := os.WriteFile(file, []byte(before+begin+Table()+end+after), 0o666); err != nil {
		t.Fatal(err)
	}
}
