package scenarios

import (
	"fmt"
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

// wrong is what is wrong with a value and what would be right.
type wrong struct{ what, want string }

// set stores the TOML value v of key k in dst, a pointer that k.field
// returned. It returns nil when v is right, and else leaves dst as it was.
func (k *key) set(dst, v any) *wrong {
	switch dst := dst.(type) {
	case *string:
		return k.setText(dst, v)
	case *bool:
		b, ok := v.(bool)
		if !ok {
			return &wrong{"is " + describe(v), "write true or false"}
		}
		*dst = b
	case *int:
		return k.setWhole(v, func(n int64) { *dst = int(n) })
	case *int64:
		return k.setWhole(v, func(n int64) { *dst = n })
	case *uint64:
		return k.setWhole(v, func(n int64) { *dst = uint64(n) })
	case *float64:
		return k.setFloat(dst, v)
	case *units.Rate:
		return k.setRate(dst, v)
	case *units.Bytes:
		return quantity(dst, v, units.ParseBytes, `"4MB"`)
	case *engine.Time:
		return quantity(dst, v, units.ParseTime, `"500ns"`)
	case *[]string:
		return k.setNames(dst, v)
	case *[]int:
		return setList(dst, v, "whole numbers", func(n *int, v any) *wrong { return k.set(n, v) })
	case *[][]int:
		return setList(dst, v, "rows of whole numbers", func(row *[]int, v any) *wrong { return k.set(row, v) })
	default:
		panic(fmt.Sprintf("scenarios: key %s has a field of type %T", k.name, dst))
	}
	return nil
}

func (k *key) setText(dst *string, v any) *wrong {
	text, ok := v.(string)
	if !ok {
		return &wrong{"is " + describe(v), "write a text in quotes"}
	}
	if k.choices != nil && !(k.unset && text == "") {
		if allowed := k.choices(); !slices.Contains(allowed, text) {
			if k.refuse != nil && k.refuse(text) != "" {
				return &wrong{k.refuse(text), "choose one of " + quotedList(allowed)}
			}
			return &wrong{quote(text) + " is not known", oneOf(text, allowed)}
		}
	}
	if k.choices == nil && (strings.ContainsFunc(text, isControl) || !utf8.ValidString(text)) {
		return &wrong{quote(text) + " holds a line end or another control character", "write one line of text"}
	}
	if len(text) > maxTextBytes {
		return &wrong{fmt.Sprintf("is %d bytes long", len(text)), fmt.Sprintf("write at most %d", maxTextBytes)}
	}
	*dst = text
	return nil
}

// maxTextBytes bounds names and titles.
const maxTextBytes = 200

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 }

func (k *key) setWhole(v any, store func(int64)) *wrong {
	n, ok := v.(int64)
	if !ok {
		if f, isFloat := v.(float64); isFloat && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return &wrong{literal(f) + " is no whole number", "write " + k.bounds("a whole number")}
		}
		return &wrong{"is " + describe(v), "write " + k.bounds("a whole number")}
	}
	// Bounds are small enough to be exact.
	if float64(n) < k.min || k.max != 0 && float64(n) > k.max {
		return &wrong{strconv.FormatInt(n, 10) + " is out of bounds", "write " + k.bounds("a whole number")}
	}
	store(n)
	return nil
}

func (k *key) setFloat(dst *float64, v any) *wrong {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	default:
		return &wrong{"is " + describe(v), "write " + k.bounds("a number")}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) || f < k.min || k.above && f == k.min || k.max != 0 && f > k.max {
		return &wrong{strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)) + " is out of bounds", "write " + k.bounds("a number")}
	}
	if f == 0 {
		f = 0 // -0 would be written differently
	}
	*dst = f
	return nil
}

func (k *key) setRate(dst *units.Rate, v any) *wrong {
	var r units.Rate
	if w := quantity(&r, v, units.ParseRate, `"400Gbps"`); w != nil {
		return w
	}
	if f := float64(r); f < k.min || k.above && f == k.min || k.max != 0 && f > k.max {
		return &wrong{quote(v.(string)) + " is out of bounds", "write " + k.bounds("a rate")}
	}
	*dst = r
	return nil
}

// quantity reads a quantity with its unit.
func quantity[T any](dst *T, v any, parse func(string) (T, error), example string) *wrong {
	text, ok := v.(string)
	if !ok {
		return &wrong{"is " + describe(v), "write a text with a unit, such as " + example}
	}
	q, err := parse(text)
	if err != nil {
		// "X is no rate: write ..." is both parts at once.
		what, want, _ := strings.Cut(err.Error(), ": write ")
		return &wrong{what, "write " + want}
	}
	*dst = q
	return nil
}

func (k *key) setNames(dst *[]string, v any) *wrong {
	var names []string
	if w := setList(&names, v, "texts", k.setText); w != nil {
		return w
	}
	if len(names) == 0 && !k.empty {
		return &wrong{"is empty", "list at least one of " + quotedList(k.choices())}
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return &wrong{quote(n) + " is listed twice", "list it once"}
		}
	}
	*dst = names
	return nil
}

// setList reads a list of elements that one reads.
func setList[T any](dst *[]T, v any, of string, one func(*T, any) *wrong) *wrong {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice {
		want := "write a list of " + of
		switch bare, ok := v.(string); {
		case ok && len(bare) > 2 && bare[0] == '[' && bare[len(bare)-1] == ']': // texts whose quotes a shell took
			if of == "texts" {
				want += `, each in quotes: ["` + strings.Join(strings.FieldsFunc(bare[1:len(bare)-1], func(r rune) bool { return strings.ContainsRune(", \"'", r) }), `", "`) + `"]`
			}
		case one(new(T), v) == nil:
			want += ": [" + literal(v) + "]"
		}
		return &wrong{"is " + describe(v), want}
	}
	list := make([]T, rv.Len())
	for i := range list {
		if w := one(&list[i], rv.Index(i).Interface()); w != nil {
			if strings.HasPrefix(w.what, "element ") {
				return &wrong{fmt.Sprintf("element %d, ", i+1) + w.what, w.want}
			}
			return &wrong{fmt.Sprintf("element %d: ", i+1) + w.what, w.want}
		}
	}
	*dst = list
	return nil
}

// bounds words the bounds of a number: "a number above 0 and up to 5".
func (k *key) bounds(what string) string {
	low := " from " + k.bound(k.min, what)
	if k.above {
		low = " above " + k.bound(k.min, what)
	}
	if k.max == 0 {
		if k.min == 0 && !k.above {
			return what + " that is not negative"
		}
		if !k.above {
			return what + " of at least " + k.bound(k.min, what)
		}
		return what + low
	}
	if k.above {
		return what + low + " and up to " + k.bound(k.max, what)
	}
	return what + low + " to " + k.bound(k.max, what)
}

func (k *key) bound(v float64, what string) string {
	if what == "a rate" {
		return units.Rate(v).String()
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// describe names a value's type and, if it is short, the value.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return "the text " + quote(v)
	case bool:
		return "the truth value " + strconv.FormatBool(v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		return "the number " + literal(v)
	case time.Time:
		return "a date"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "an array of tables"
	default:
		return "a list"
	}
}

// quote quotes a text for a message of one line, shortened if it is long.
func quote(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strconv.Quote(text)
}
