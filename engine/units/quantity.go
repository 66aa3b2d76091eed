package units

// This file has the parts of parsing and formatting that all quantities share.

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxTextBytes is the maximum length of a quantity in bytes.
const maxTextBytes = 64

// split splits text into a decimal number and its unit, which one space may separate. problem
// describes the error if text does not start with a non-negative number.
func split(text string) (number, unit, problem string) {
	if len(text) > maxTextBytes {
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

// unit is the name of a unit and its value in base units.
type unit struct {
	name  string
	scale int64
}

// quantity describes a kind of quantity: whole numbers of base units from 0 to max. The order of
// units determines the unit that format prefers.
type quantity struct {
	noun, advice string // for messages: "size", and an example
	units        []unit
	max          int64 // largest value in base units
	// Messages for a fraction of a base unit, and for a value above max.
	fractionProblem, sizeProblem string
}

// parse parses a number and a unit and returns the value in base units.
func (q *quantity) parse(text string) (int64, error) {
	number, name, problem := split(text)
	index := slices.IndexFunc(q.units, func(u unit) bool { return u.name == name })
	if problem == "" && index >= 0 {
		r, ok := new(big.Rat).SetString(number)
		switch {
		case !ok: // not possible: split rejects "."
		case !r.Mul(r, new(big.Rat).SetInt64(q.units[index].scale)).IsInt():
			problem = q.fractionProblem
		case !r.Num().IsInt64() || r.Num().Int64() > q.max:
			problem = q.sizeProblem
		default:
			return r.Num().Int64(), nil
		}
	}
	if problem != "" {
		problem = ", " + problem
	}
	return 0, fmt.Errorf("%s is no %s%s: write %s", clip(text), q.noun, problem, q.advice)
}

// format formats n as a whole number of the first unit that divides it.
func (q *quantity) format(n int64) string {
	i := slices.IndexFunc(q.units, func(u unit) bool { return n%u.scale == 0 })
	return strconv.FormatInt(n/q.units[i].scale, 10) + q.units[i].name
}

// clip quotes a text for a message and shortens it.
func clip(text string) string {
	if len(text) > maxTextBytes {
		text = text[:maxTextBytes] + "..."
	}
	return fmt.Sprintf("%q", text)
}
