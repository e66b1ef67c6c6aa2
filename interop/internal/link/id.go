package link

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Both SDKs keep a numeric id as a float64, and answer 9007199254740993 (2^53+1) under 9007199254740992: the caller waits
// for ever. Nor does a string with half a surrogate pair come back. An id that would not survive travels through the SDK as a
// string that has it behind this prefix. NUL keeps it apart from the ids of sane peers; others' with the prefix are hidden too.
const hiddenPrefix = "\x00id:"

// hideID returns id as the SDK may see it, and whether that is not id itself.
func hideID(id json.RawMessage) (json.RawMessage, bool) {
	if survives(string(id)) {
		return id, false
	}
	hidden, _ := json.Marshal(hiddenPrefix + string(id))
	return hidden, true
}

// survives reports whether id, if it is one, has the same value after an SDK has decoded and encoded it.
func survives(id string) bool {
	if isInteger(id) {
		n, err := strconv.ParseInt(id, 10, 64)
		return err == nil && -1<<53 <= n && n <= 1<<53 && strconv.FormatInt(n, 10) == id // "-0" does not come back as "-0"
	}
	s, ok := text(id)
	return !ok || !strings.HasPrefix(s, hiddenPrefix) && !strings.Contains(s, "\uFFFD") // as which Go decodes half a pair
}

// showID returns the id that hideID has hidden in id, and whether it has.
func showID(id json.RawMessage) (json.RawMessage, bool) {
	s, _ := text(string(id))
	shown, ok := strings.CutPrefix(s, hiddenPrefix)
	_, isString := text(shown)
	return json.RawMessage(shown), ok && (isInteger(shown) || isString)
}

// callID returns the integer that the id of a response may stand for: a peer that keeps numbers as doubles answers 1 under 1.0,
// one that has only strings for ids under "1". Both SDKs number their requests.
func callID(id json.RawMessage) json.RawMessage {
	if s, ok := text(string(id)); ok {
		if isInteger(s) {
			return json.RawMessage(s)
		}
		return id
	}
	if f, err := strconv.ParseFloat(string(id), 64); err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return strconv.AppendInt(nil, int64(f), 10)
	}
	return id
}

// isInteger reports whether s is an integer literal, RFC 8259 section 6 without fraction and exponent.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	for _, c := range digits {
		if c < '0' || '9' < c {
			return false
		}
	}
	return digits == "0" || digits != "" && digits[0] != '0'
}

// text returns the text of a JSON string, and whether raw is one.
func text(raw string) (s string, ok bool) {
	ok = strings.HasPrefix(raw, `"`) && json.Unmarshal([]byte(raw), &s) == nil
	return s, ok
}

// idKey returns the same for ids that differ only in how their strings are escaped.
func idKey(id json.RawMessage) string {
	if s, ok := text(string(id)); ok {
		return `"` + s
	}
	return string(id)
}
