package link

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Both SDKs keep a numeric id as a float64, and answer 9007199254740993 (2^53+1) under 9007199254740992: the caller waits
// for ever. A number that would not survive travels through the SDK as a string with this prefix. NUL keeps it apart from the
// ids of sane peers; a peer that sends such a string itself is answered under the number in it.
const hiddenPrefix = "\x00number:"

// hideID returns id as the SDK may see it, and whether that is not id itself.
func hideID(id json.RawMessage) (json.RawMessage, bool) {
	s := string(id)
	if !isInteger(s) {
		return id, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil && -1<<53 <= n && n <= 1<<53 && strconv.FormatInt(n, 10) == s { // "-0" does not come back as "-0"
		return id, false
	}
	hidden, _ := json.Marshal(hiddenPrefix + s)
	return hidden, true
}

// showID returns the id that hideID has hidden in id, and whether it has.
func showID(id json.RawMessage) (json.RawMessage, bool) {
	var s string
	if json.Unmarshal(id, &s) != nil {
		return nil, false
	}
	number, ok := strings.CutPrefix(s, hiddenPrefix)
	return json.RawMessage(number), ok && isInteger(number)
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

// idKey returns the same for ids that differ only in how their strings are escaped.
func idKey(id json.RawMessage) string {
	var s string
	if json.Unmarshal(id, &s) == nil {
		return `"` + s
	}
	return string(id)
}
