// This file converts TOML values to the types of fields, and formats values as TOML.

package schema

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sim/engine"
	"sim/engine/units"
)

// Rejection is the reason why a value is invalid, with the accepted values.
type Rejection struct{ Problem, Remedy string }

// MaxText is the maximum length of a text in bytes, enough for a title of two lines. Longer
// texts are rejected, because tables and messages print them.
const MaxText = 200

// Set stores a TOML value in the field of element i. If the value is invalid, it returns
// the reason and does not change the field.
func (k *Key) Set(i int, v any) *Rejection { return k.setValue(k.Field(i).Addr().Interface(), v) }

// setValue stores a TOML value in the variable that dst points to.
func (k *Key) setValue(dst, v any) *Rejection {
	switch dst := dst.(type) {
	case *string:
		return k.setText(dst, v)
	case *bool:
		b, ok := v.(bool)
		if !ok {
			return &Rejection{"is " + Describe(v), "write true or false"}
		}
		*dst = b
	case *int:
		return k.setInteger(v, func(n int64) { *dst = int(n) })
	case *int64:
		return k.setInteger(v, func(n int64) { *dst = n })
	case *uint64:
		return k.setInteger(v, func(n int64) { *dst = uint64(n) })
	case *float64:
		return k.setNumber(dst, v)
	case *units.Rate:
		return k.setRate(dst, v)
	case *units.Bytes:
		return parseQuantity(dst, v, units.ParseBytes, `"4MB"`)
	case *engine.Time:
		return parseQuantity(dst, v, units.ParseTime, `"500ns"`)
	case *units.Frequency:
		return parseQuantity(dst, v, units.ParseFrequency, `"0.0008/day"`)
	case *[]string:
		return k.setNames(dst, v)
	case *[]int:
		return parseList(dst, v, "whole numbers", func(n *int, v any) *Rejection { return k.setValue(n, v) })
	case *[][]int:
		return parseList(dst, v, "rows of whole numbers", func(row *[]int, v any) *Rejection { return k.setValue(row, v) })
	case **float64:
		*dst = new(float64)
		return k.setNumber(*dst, v)
	case *map[string][]string:
		return parseLists(dst, v)
	default:
		return parseStructs(reflect.ValueOf(dst).Elem(), v)
	}
	return nil
}

// parseLists parses a table of lists. Numbers and booleans are converted to text.
func parseLists(dst *map[string][]string, v any) *Rejection {
	const want = "write a table of lists"
	m, ok := v.(map[string]any)
	if !ok {
		return &Rejection{"is " + Describe(v), want}
	}
	*dst = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		rv := reflect.ValueOf(m[name])
		if rv.Kind() != reflect.Slice {
			return &Rejection{Quote(name) + " is " + Describe(m[name]), want}
		}
		texts := make([]string, rv.Len())
		for i := range texts {
			texts[i] = fmt.Sprint(rv.Index(i))
		}
		(*dst)[name] = texts
	}
	return nil
}

// parseStructs parses an array of tables inside a table.
func parseStructs(dst reflect.Value, v any) *Rejection {
	rows := Rows(v)
	if rows == nil {
		return &Rejection{"is " + Describe(v), "write it as an array of tables"}
	}
	l := layoutOf(dst.Type().Elem(), ownTags)
	all := reflect.MakeSlice(dst.Type(), len(rows), len(rows))
	for i, row := range rows {
		for _, name := range slices.Sorted(maps.Keys(row)) {
			// The keys of an element are described by the tags of its struct.
			at := slices.IndexFunc(l.keys, func(o *keySpec) bool { return o.Name == name })
			if at < 0 {
				return &Rejection{fmt.Sprintf("element %d has an unknown key %s", i, Quote(name)), "see docs/scenario.md"}
			}
			key := &Key{keySpec: l.keys[at]} // has no table; setValue does not need one
			field := all.Index(i).FieldByIndex(key.fieldIndex)
			if w := key.setValue(field.Addr().Interface(), row[name]); w != nil {
				return &Rejection{fmt.Sprintf("element %d: %s %s", i, name, w.Problem), w.Remedy}
			}
		}
	}
	dst.Set(all)
	return nil
}

// setText stores a text. It must be one of the choices, if there are any, else a short line.
func (k *Key) setText(dst *string, v any) *Rejection {
	text, ok := v.(string)
	if !ok {
		return &Rejection{"is " + Describe(v), "write a text in quotes"}
	}
	if c := k.choice(); c != nil && !(k.allowsUnset && text == "") {
		if allowed := c.Names(); c.Parts != nil && strings.Contains(text, "=") {
			if w := c.checkParts(text); w != nil {
				return w
			}
		} else if !slices.Contains(allowed, text) {
			if c.Reason != nil && c.Reason(text) != "" {
				return &Rejection{c.Reason(text), "choose one of " + QuotedList(allowed)}
			}
			return &Rejection{Quote(text) + " is not known", OneOf(text, allowed)}
		}
	}
	if k.choices == "" && (strings.ContainsFunc(text, IsControl) || !utf8.ValidString(text)) {
		return &Rejection{Quote(text) + " holds a line end or another control character", "write one line of text"}
	}
	if len(text) > MaxText {
		return &Rejection{fmt.Sprintf("is %d bytes long", len(text)), fmt.Sprintf("write at most %d", MaxText)}
	}
	*dst = text
	return nil
}

// checkParts checks a text that assigns choices to parts, such as "a=x,b=y".
func (c *Choices) checkParts(text string) *Rejection {
	var seen []string
	for one := range strings.SplitSeq(text, ",") {
		part, name, _ := strings.Cut(one, "=")
		switch {
		case !slices.Contains(c.Parts, part):
			return &Rejection{Quote(part) + " is not known", OneOf(part, c.Parts)}
		case slices.Contains(seen, part):
			return &Rejection{Quote(part) + " stands twice", "give it once"}
		case !slices.Contains(c.Names(), name):
			return &Rejection{Quote(name) + " of " + part + " is not known", OneOf(name, c.Names())}
		}
		seen = append(seen, part)
	}
	return nil
}

// setInteger checks an integer and its bounds, and calls store with it.
func (k *Key) setInteger(v any, store func(int64)) *Rejection {
	n, ok := v.(int64)
	if !ok {
		if f, isFloat := v.(float64); isFloat && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return &Rejection{Literal(f) + " is not a whole number", "write " + k.boundsText("a whole number")}
		}
		return &Rejection{"is " + Describe(v), "write " + k.boundsText("a whole number")}
	}
	// Bounds are small enough to be exact as floats. A Max of 0 means no limit.
	if float64(n) < k.Min || k.Max != 0 && float64(n) > k.Max {
		return &Rejection{strconv.FormatInt(n, 10) + " is out of bounds", "write " + k.boundsText("a whole number")}
	}
	store(n)
	return nil
}

// outOfBounds reports whether a number is invalid or out of bounds.
func (k *keySpec) outOfBounds(f float64) bool {
	return math.IsNaN(f) || math.IsInf(f, 0) || f < k.Min || k.ExclusiveMin && f == k.Min || k.Max != 0 && f > k.Max
}

// setNumber stores a number that is within its bounds.
func (k *Key) setNumber(dst *float64, v any) *Rejection {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	default:
		return &Rejection{"is " + Describe(v), "write " + k.boundsText("a number")}
	}
	if k.outOfBounds(f) {
		return &Rejection{strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)) + " is out of bounds", "write " + k.boundsText("a number")}
	}
	if f == 0 {
		// Replaces -0, which is written differently.
		f = 0
	}
	*dst = f
	return nil
}

// setRate stores a rate that is within its bounds.
func (k *Key) setRate(dst *units.Rate, v any) *Rejection {
	var r units.Rate
	if w := parseQuantity(&r, v, units.ParseRate, `"400Gbps"`); w != nil {
		return w
	}
	if k.outOfBounds(float64(r)) {
		return &Rejection{Quote(v.(string)) + " is out of bounds", "write " + k.boundsText("a rate")}
	}
	*dst = r
	return nil
}

// parseQuantity parses a quantity with a unit.
func parseQuantity[T any](dst *T, v any, parse func(string) (T, error), example string) *Rejection {
	text, ok := v.(string)
	if !ok {
		return &Rejection{"is " + Describe(v), "write a text with a unit, such as " + example}
	}
	q, err := parse(text)
	if err != nil {
		// The error contains both parts: "X is no rate: write ...".
		what, want, _ := strings.Cut(err.Error(), ": write ")
		return &Rejection{what, "write " + want}
	}
	*dst = q
	return nil
}

// setNames stores a list of different texts.
func (k *Key) setNames(dst *[]string, v any) *Rejection {
	var names []string
	if w := parseList(&names, v, "texts", k.setText); w != nil {
		return w
	}
	if len(names) == 0 && !k.allowsEmpty {
		return &Rejection{"is empty", "list at least one of " + QuotedList(k.Choices())}
	}
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if seen[n] {
			return &Rejection{Quote(n) + " is listed twice", "list it once"}
		}
		seen[n] = true
	}
	*dst = names
	return nil
}

// parseList parses a list; parse stores an element, and kind names the elements for
// messages.
func parseList[T any](dst *[]T, v any, kind string, parse func(*T, any) *Rejection) *Rejection {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice {
		// A single value is a common error, and so is a list whose quotes a shell has removed.
		want := "write a list of " + kind
		switch bare, ok := v.(string); {
		case ok && len(bare) > 2 && bare[0] == '[' && bare[len(bare)-1] == ']':
			// A shell has removed the quotes.
			if kind == "texts" {
				want += `, each in quotes: ["` + strings.Join(strings.FieldsFunc(bare[1:len(bare)-1], func(r rune) bool { return strings.ContainsRune(", \"'", r) }), `", "`) + `"]`
			}
		case parse(new(T), v) == nil:
			want += ": [" + Literal(v) + "]"
		}
		return &Rejection{"is " + Describe(v), want}
	}
	elements := make([]T, rv.Len())
	for i := range elements {
		if w := parse(&elements[i], rv.Index(i).Interface()); w != nil {
			if strings.HasPrefix(w.Problem, "element ") {
				return &Rejection{fmt.Sprintf("element %d, ", i+1) + w.Problem, w.Remedy}
			}
			return &Rejection{fmt.Sprintf("element %d: ", i+1) + w.Problem, w.Remedy}
		}
	}
	*dst = elements
	return nil
}

// boundsText describes the bounds of a number, such as "a number above 0 and up to 5".
func (k *keySpec) boundsText(what string) string {
	bound := func(v float64) string {
		if what == "a rate" {
			return units.Rate(v).String()
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	switch {
	case math.IsInf(k.Min, -1):
		return what
	case k.Max == 0 && k.ExclusiveMin:
		return what + " above " + bound(k.Min)
	case k.Max == 0 && k.Min == 0:
		return what + " that is not negative"
	case k.Max == 0:
		return what + " of at least " + bound(k.Min)
	case k.ExclusiveMin:
		return what + " above " + bound(k.Min) + " and up to " + bound(k.Max)
	}
	return what + " from " + bound(k.Min) + " to " + bound(k.Max)
}

// Describe describes a value for messages by its type and, if it is short, its value.
func Describe(v any) string {
	switch v := v.(type) {
	case string:
		return "the text " + Quote(v)
	case bool:
		return "the truth value " + strconv.FormatBool(v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		return "the number " + Literal(v)
	case time.Time:
		return "a date"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "an array of tables"
	}
	return "a list"
}

// Literal formats a value as TOML.
func Literal(v any) string {
	switch v := v.(type) {
	case units.Rate:
		return strconv.Quote(v.String())
	case units.Bytes:
		return strconv.Quote(v.String())
	case engine.Time:
		return strconv.Quote(units.FormatTime(v))
	case units.Frequency:
		return strconv.Quote(v.String())
	case string:
		return strconv.Quote(v)
	case float64:
		return formatFloat(v)
	case map[string]any:
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, JoinPath("", name)+" = "+Literal(v[name]))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice {
		return fmt.Sprint(v) // whole numbers and truth values
	}
	elements := make([]string, rv.Len())
	for i := range elements {
		elements[i] = Literal(rv.Index(i).Interface())
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

// formatFloat formats f such that TOML reads the same float.
func formatFloat(f float64) string {
	text := strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	if !strings.ContainsAny(text, ".ein") { // neither a float nor inf or nan
		text += ".0"
	}
	return text
}
