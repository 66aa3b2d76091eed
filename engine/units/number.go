package units

import (
	"fmt"
	"math/big"
	"strings"
)

// maxText bounds the quantities that are looked at, in bytes.
const maxText = 64

// split cuts text into a decimal number and its unit, which one space may
// separate. It reports what is wrong otherwise.
func split(text string) (number, unit, wrong string) {
	if len(text) > maxText {
		return "", "", "it is too long"
	}
	s := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(s, "-"); ok && rest != "" && (isDigit(rest[0]) || rest[0] == '.') {
		return "", "", "it is negative"
	}
	i, digits := 0, 0
	for dot := false; i < len(s) && (isDigit(s[i]) || s[i] == '.' && !dot); i++ {
		if s[i] == '.' {
			dot = true
		} else {
			digits++
		}
	}
	if digits == 0 {
		return "", "", "it does not start with a number"
	}
	return s[:i], strings.TrimPrefix(s[i:], " "), ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// whole returns number x scale, which must be a whole number within int64.
func whole(number string, scale int64) (n int64, fits, isWhole bool) {
	r, ok := new(big.Rat).SetString(number)
	if !ok { // "." alone is refused by split, so this does not happen
		return 0, false, false
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	if !r.IsInt() {
		return 0, true, false
	}
	if !r.Num().IsInt64() {
		return 0, false, true
	}
	return r.Num().Int64(), true, true
}

// clip shortens a text for a message.
func clip(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	return fmt.Sprintf("%q", text)
}
