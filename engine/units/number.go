package units

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxText bounds the quantities that are looked at, in bytes.
const maxText = 64

// split cuts text into a decimal number and its unit, which one space may separate. It reports what is wrong otherwise.
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

// unit is a unit as text, and what one of it is.
type unit struct {
	name  string
	scale int64
}

// quantity is what whole numbers from 0 to most measure, in units ordered as format tries them.
type quantity struct {
	noun, advice string // of messages
	units        []unit
	most         int64
	fine, large  string // what is wrong with a fraction, and with more than most
}

// parse reads a number and a unit.
func (q *quantity) parse(text string) (int64, error) {
	number, name, wrong := split(text)
	at := slices.IndexFunc(q.units, func(u unit) bool { return u.name == name })
	if wrong == "" && at >= 0 {
		r, ok := new(big.Rat).SetString(number)
		switch {
		case !ok: // "." alone is refused by split, so this does not happen
		case !r.Mul(r, new(big.Rat).SetInt64(q.units[at].scale)).IsInt():
			wrong = q.fine
		case !r.Num().IsInt64() || r.Num().Int64() > q.most:
			wrong = q.large
		default:
			return r.Num().Int64(), nil
		}
	}
	if wrong != "" {
		wrong = ", " + wrong
	}
	return 0, fmt.Errorf("%s is no %s%s: write %s", clip(text), q.noun, wrong, q.advice)
}

// format writes n as a whole number of the first unit that divides it.
func (q *quantity) format(n int64) string {
	i := slices.IndexFunc(q.units, func(u unit) bool { return n%u.scale == 0 })
	return strconv.FormatInt(n/q.units[i].scale, 10) + q.units[i].name
}

// clip shortens a text for a message.
func clip(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	return fmt.Sprintf("%q", text)
}
