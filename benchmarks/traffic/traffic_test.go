package traffic

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
	"unicode/utf8"
)

// lineSizes are the bounds that the package promises, with room for the
// envelope and for the last word or tool.
var lineSizes = map[Class][2]int{
	Small:  {60, 260},
	Medium: {450, 9 << 10},
	Schema: {20 << 10, 61 << 10},
	Image:  {1 << 20, 1<<20 + 200},
	Text:   {4 << 20, 4<<20 + 500},
	Mix:    {60, 70 << 10},
}

func TestGenerate(t *testing.T) {
	for _, c := range Classes {
		for _, o := range []Order{IDFirst, IDLast} {
			t.Run(string(c)+"/"+string(o), func(t *testing.T) {
				data := Generate(c, o, 1<<20)
				if len(data) < 1<<20 || data[len(data)-1] != '\n' {
					t.Fatalf("Generate gave %d bytes, want whole lines of at least %d", len(data), 1<<20)
				}
				for line := range bytes.Lines(data) {
					checkLine(t, c, o, bytes.TrimSuffix(line, []byte("\n")))
				}
				if again := Generate(c, o, 1<<20); !bytes.Equal(data, again) {
					t.Error("Generate gave different bytes the second time")
				}
			})
		}
	}
}

func checkLine(t *testing.T, c Class, o Order, line []byte) {
	t.Helper()
	if !json.Valid(line) || !utf8.Valid(line) {
		t.Fatalf("not JSON: %.200s", line)
	}
	if size := lineSizes[c]; len(line) < size[0] || len(line) > size[1] {
		t.Fatalf("line of %d bytes, want %d to %d: %.200s", len(line), size[0], size[1], line)
	}
	if first := bytes.HasPrefix(line, []byte(`{"jsonrpc"`)); first != (o == IDFirst) {
		t.Fatalf("jsonrpc first = %t in order %s: %.200s", first, o, line)
	}
}

func TestGenerateEscapeDensity(t *testing.T) {
	// Escapes decide how fast strings can be read: medium stands for code, and
	// in recorded sessions code has one in 14 to 40 bytes.
	data := Generate(Medium, IDLast, 1<<20)
	escapes := len(regexp.MustCompile(`\\.`).FindAllIndex(data, -1))
	if per := len(data) / escapes; per < 14 || per > 40 {
		t.Errorf("medium has an escape every %d bytes, want 14 to 40", per)
	}
}

func TestLine(t *testing.T) {
	for _, o := range []Order{IDFirst, IDLast} {
		for _, size := range []int{128, 1 << 10, 1<<20 - 1, 1 << 20, 1<<20 + 1} {
			line := Line(o, size)
			if !json.Valid(line) || len(line) != size {
				t.Errorf("Line(%s, %d) has %d bytes, JSON %t", o, size, len(line), json.Valid(line))
			}
		}
	}
}

func TestResult(t *testing.T) {
	for name, c := range map[string]Content{"code": Code, "prose": Prose} {
		for _, size := range []int{100, 4 << 10, 256 << 10} {
			raw := Result(c, size)
			if !json.Valid(raw) || len(raw) < size-20 || len(raw) > size+120 {
				t.Errorf("Result(%s, %d) has %d bytes, JSON %t: %.300s", name, size, len(raw), json.Valid(raw), raw)
			}
		}
	}
}
