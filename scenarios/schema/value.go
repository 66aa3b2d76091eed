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

// Wrong is what is wrong with a value, and what would be right.
type Wrong struct{ Problem, Remedy string }

// MaxText bounds the bytes of a text.
const MaxText = 200

// Set stores a TOML value in the field of element i. It returns nil when the value is right, and else leaves the field
// as it was.
func (k *Key) Set(i int, v any) *Wrong { return k.set(k.Field(i).Addr().Interface(), v) }

func (k *Key) set(dst, v any) *Wrong {
	switch dst := dst.(type) {
	case *string:
		return k.text(dst, v)
	case *bool:
		b, ok := v.(bool)
		if !ok {
			return &Wrong{"is " + Describe(v), "write true or false"}
		}
		*dst = b
	case *int:
		return k.whole(v, func(n int64) { *dst = int(n) })
	case *int64:
		return k.whole(v, func(n int64) { *dst = n })
	case *uint64:
		return k.whole(v, func(n int64) { *dst = uint64(n) })
	case *float64:
		return k.number(dst, v)
	case *units.Rate:
		return k.rate(dst, v)
	case *units.Bytes:
		return quantity(dst, v, units.ParseBytes, `"4MB"`)
	case *engine.Time:
		return quantity(dst, v, units.ParseTime, `"500ns"`)
	case *units.Frequency:
		return quantity(dst, v, units.ParseFrequency, `"0.0008/day"`)
	case *[]string:
		return k.names(dst, v)
	case *[]int:
		return list(dst, v, "whole numbers", func(n *int, v any) *Wrong { return k.set(n, v) })
	case *[][]int:
		return list(dst, v, "rows of whole numbers", func(row *[]int, v any) *Wrong { return k.set(row, v) })
	case **float64:
		*dst = new(float64)
		return k.number(*dst, v)
	case *map[string][]string:
		return lists(dst, v)
	default:
		return structs(reflect.ValueOf(dst).Elem(), v)
	}
	return nil
}

// lists reads a table of lists, whose numbers and truth values count as texts.
func lists(dst *map[string][]string, v any) *Wrong {
	const want = "write a table of lists"
	m, ok := v.(map[string]any)
	if !ok {
		return &Wrong{"is " + Describe(v), want}
	}
	*dst = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		rv := reflect.ValueOf(m[name])
		if rv.Kind() != reflect.Slice {
			return &Wrong{Quote(name) + " is " + Describe(m[name]), want}
		}
		texts := make([]string, rv.Len())
		for i := range texts {
			texts[i] = fmt.Sprint(rv.Index(i))
		}
		(*dst)[name] = texts
	}
	return nil
}

// structs reads an array of tables within a table.
func structs(dst reflect.Value, v any) *Wrong {
	rows := Rows(v)
	if rows == nil {
		return &Wrong{"is " + Describe(v), "write it as an array of tables"}
	}
	l := layoutOf(dst.Type().Elem(), nil)
	all := reflect.MakeSlice(dst.Type(), len(rows), len(rows))
	for i, row := range rows {
		for _, name := range slices.Sorted(maps.Keys(row)) {
			at := slices.IndexFunc(l.options, func(o *option) bool { return o.Name == name })
			if at < 0 {
				return &Wrong{fmt.Sprintf("element %d has an unknown key %s", i, Quote(name)), "see docs/scenario.md"}
			}
			if w := (&Key{option: l.options[at]}).set(all.Index(i).FieldByIndex(l.options[at].index).Addr().Interface(), row[name]); w != nil {
				return &Wrong{fmt.Sprintf("element %d: %s %s", i, name, w.Problem), w.Remedy}
			}
		}
	}
	dst.Set(all)
	return nil
}

func (k *Key) text(dst *string, v any) *Wrong {
	text, ok := v.(string)
	if !ok {
		return &Wrong{"is " + Describe(v), "write a text in quotes"}
	}
	if c := k.choice(); c != nil && !(k.unset && text == "") {
		if allowed := c.Names(); c.Parts != nil && strings.Contains(text, "=") {
			if w := c.parts(text); w != nil {
				return w
			}
		} else if !slices.Contains(allowed, text) {
			if c.Refuse != nil && c.Refuse(text) != "" {
				return &Wrong{c.Refuse(text), "choose one of " + QuotedList(allowed)}
			}
			return &Wrong{Quote(text) + " is not known", OneOf(text, allowed)}
		}
	}
	if k.choices == "" && (strings.ContainsFunc(text, IsControl) || !utf8.ValidString(text)) {
		return &Wrong{Quote(text) + " holds a line end or another control character", "write one line of text"}
	}
	if len(text) > MaxText {
		return &Wrong{fmt.Sprintf("is %d bytes long", len(text)), fmt.Sprintf("write at most %d", MaxText)}
	}
	*dst = text
	return nil
}

// parts returns what is wrong with a text that gives parts choices.
func (c *Choices) parts(text string) *Wrong {
	var seen []string
	for one := range strings.SplitSeq(text, ",") {
		part, name, _ := strings.Cut(one, "=")
		switch {
		case !slices.Contains(c.Parts, part):
			return &Wrong{Quote(part) + " is not known", OneOf(part, c.Parts)}
		case slices.Contains(seen, part):
			return &Wrong{Quote(part) + " stands twice", "give it once"}
		case !slices.Contains(c.Names(), name):
			return &Wrong{Quote(name) + " of " + part + " is not known", OneOf(name, c.Names())}
		}
		seen = append(seen, part)
	}
	return nil
}

func (k *Key) whole(v any, store func(int64)) *Wrong {
	n, ok := v.(int64)
	if !ok {
		if f, isFloat := v.(float64); isFloat && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return &Wrong{Literal(f) + " is not a whole number", "write " + k.bounds("a whole number")}
		}
		return &Wrong{"is " + Describe(v), "write " + k.bounds("a whole number")}
	}
	// Bounds are small enough to be exact.
	if float64(n) < k.Min || k.Max != 0 && float64(n) > k.Max {
		return &Wrong{strconv.FormatInt(n, 10) + " is out of bounds", "write " + k.bounds("a whole number")}
	}
	store(n)
	return nil
}

// outside reports whether a number is out of bounds.
func (k *option) outside(f float64) bool {
	return math.IsNaN(f) || math.IsInf(f, 0) || f < k.Min || k.Above && f == k.Min || k.Max != 0 && f > k.Max
}

func (k *Key) number(dst *float64, v any) *Wrong {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	default:
		return &Wrong{"is " + Describe(v), "write " + k.bounds("a number")}
	}
	if k.outside(f) {
		return &Wrong{strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)) + " is out of bounds", "write " + k.bounds("a number")}
	}
	if f == 0 {
		f = 0 // -0 would be written differently
	}
	*dst = f
	return nil
}

func (k *Key) rate(dst *units.Rate, v any) *Wrong {
	var r units.Rate
	if w := quantity(&r, v, units.ParseRate, `"400Gbps"`); w != nil {
		return w
	}
	if k.outside(float64(r)) {
		return &Wrong{Quote(v.(string)) + " is out of bounds", "write " + k.bounds("a rate")}
	}
	*dst = r
	return nil
}

// quantity reads a quantity with its unit.
func quantity[T any](dst *T, v any, parse func(string) (T, error), example string) *Wrong {
	text, ok := v.(string)
	if !ok {
		return &Wrong{"is " + Describe(v), "write a text with a unit, such as " + example}
	}
	q, err := parse(text)
	if err != nil {
		// "X is no rate: write ..." is both parts at once.
		what, want, _ := strings.Cut(err.Error(), ": write ")
		return &Wrong{what, "write " + want}
	}
	*dst = q
	return nil
}

func (k *Key) names(dst *[]string, v any) *Wrong {
	var names []string
	if w := list(&names, v, "texts", k.text); w != nil {
		return w
	}
	if len(names) == 0 && !k.empty {
		return &Wrong{"is empty", "list at least one of " + QuotedList(k.Choices())}
	}
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if seen[n] {
			return &Wrong{Quote(n) + " is listed twice", "list it once"}
		}
		seen[n] = true
	}
	*dst = names
	return nil
}

// list reads a list of elements that one reads.
func list[T any](dst *[]T, v any, of string, one func(*T, any) *Wrong) *Wrong {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice {
		want := "write a list of " + of
		switch bare, ok := v.(string); {
		case ok && len(bare) > 2 && bare[0] == '[' && bare[len(bare)-1] == ']': // texts whose quotes a shell took
			if of == "texts" {
				want += `, each in quotes: ["` + strings.Join(strings.FieldsFunc(bare[1:len(bare)-1], func(r rune) bool { return strings.ContainsRune(", \"'", r) }), `", "`) + `"]`
			}
		case one(new(T), v) == nil:
			want += ": [" + Literal(v) + "]"
		}
		return &Wrong{"is " + Describe(v), want}
	}
	elements := make([]T, rv.Len())
	for i := range elements {
		if w := one(&elements[i], rv.Index(i).Interface()); w != nil {
			if strings.HasPrefix(w.Problem, "element ") {
				return &Wrong{fmt.Sprintf("element %d, ", i+1) + w.Problem, w.Remedy}
			}
			return &Wrong{fmt.Sprintf("element %d: ", i+1) + w.Problem, w.Remedy}
		}
	}
	*dst = elements
	return nil
}

// bounds words the bounds of a number: "a number above 0 and up to 5".
func (k *option) bounds(what string) string {
	bound := func(v float64) string {
		if what == "a rate" {
			return units.Rate(v).String()
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	switch {
	case math.IsInf(k.Min, -1):
		return what
	case k.Max == 0 && k.Above:
		return what + " above " + bound(k.Min)
	case k.Max == 0 && k.Min == 0:
		return what + " that is not negative"
	case k.Max == 0:
		return what + " of at least " + bound(k.Min)
	case k.Above:
		return what + " above " + bound(k.Min) + " and up to " + bound(k.Max)
	}
	return what + " from " + bound(k.Min) + " to " + bound(k.Max)
}

// Describe names a value's type and, if it is short, the value.
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

// Literal writes a value as TOML.
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
		return decimal(v)
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

// decimal writes f so that TOML reads it back as the same float.
func decimal(f float64) string {
	text := strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	if !strings.ContainsAny(text, ".ein") { // neither a float nor inf or nan
		text += ".0"
	}
	return text
}
