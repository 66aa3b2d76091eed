package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
)

// A document that is read may have been damaged or made up. What of it is in memory is bounded while it is read, not
// after: a few megabytes of gzip, or of empty braces, would otherwise take gigabytes.

// limits bound a document.
type limits struct {
	text   int64 // bytes of JSON
	memory int64 // bytes that it takes when it is read, about
}

// limitsOf returns the limits of a document that is read into a pointer from a file of so many bytes.
//
// Of a run the largest is the detail, of some 65 bytes of memory and 75 of text a span: it may have two million, as
// many as the largest scenarios have tasks. What belongs to a sweep has no largest size; it may take memory in
// proportion to what lies on the disk, of which a cell takes about twice its text.
func limitsOf(into any, size int64) limits {
	of := limits{text: 256 << 20, memory: 128 << 20}
	switch into.(type) {
	case *Manifest:
		return limits{text: 1 << 20, memory: 4 << 20}
	case *Document, *Timings, *Detail:
		return of
	}
	return limits{text: max(of.text, size), memory: 4<<20 + 4*size}
}

const (
	// mostValue is the most text of what is read at once: a string, a number, a list of them, a small struct. The
	// longest is a series over time, of a million points.
	mostValue = 16 << 20
	// mostName is the most text between values: names, brackets and spaces.
	mostName = 64 << 10
	// mostList is the most memory of one list, which takes three times as much while it grows.
	mostList = 64 << 20
)

// errLarge is wrapped where a document is beyond its limits.
var errLarge = errors.New("it holds more than a run can")

// Decode is Load of a reader, of a file of so many bytes.
func Decode(r io.Reader, size int64, into any) error { return decode(r, into, limitsOf(into, size)) }

// decode reads the one JSON document in r as json.Unmarshal does, but value by value and within limits. into points to
// a struct or a slice.
func decode(r io.Reader, into any, most limits) error {
	in := &meter{r: r, left: most.text}
	d := &decoder{Decoder: json.NewDecoder(in), in: in, memory: most.memory}
	if err := d.value(reflect.ValueOf(into).Elem(), ""); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("unexpected end of JSON input")
		}
		return err
	}
	if _, err := d.token(); err == nil {
		return errors.New("more follows the document")
	} else if err != io.EOF {
		return err
	}
	return nil
}

// meter hands on a text, and fails where it is longer than it may be.
type meter struct {
	r    io.Reader
	left int64 // bytes that may still come
	read int64
	from int64 // where what is being read begins
	most int64 // bytes that it may have
}

// readAhead is how far a json.Decoder reads beyond what it returns.
const readAhead = 32 << 10

func (m *meter) Read(p []byte) (int, error) {
	if m.read > m.from+m.most+readAhead {
		return 0, fmt.Errorf("%w: a value of more than %d KiB", errLarge, m.most>>10)
	}
	n, err := m.r.Read(p[:min(len(p), readAhead)])
	m.read += int64(n)
	if m.left -= int64(n); m.left < 0 {
		return 0, fmt.Errorf("%w: more than %d MiB of text", errLarge, (m.read+m.left)>>20)
	}
	return n, err
}

// decoder reads a document.
type decoder struct {
	*json.Decoder
	in     *meter
	memory int64 // bytes that may still be taken
}

// expect lets what comes next have so many bytes.
func (d *decoder) expect(most int64) { d.in.from, d.in.most = d.InputOffset(), most }

// token returns the next token, which is a bracket or a name.
func (d *decoder) token() (json.Token, error) {
	d.expect(mostName)
	return d.Token()
}

// more reports whether an object or a list goes on. Where it cannot be read, token tells.
func (d *decoder) more() bool {
	d.expect(mostName)
	return d.More()
}

// take takes n bytes of memory.
func (d *decoder) take(n int64) error {
	if d.memory -= n; d.memory < 0 {
		return fmt.Errorf("%w, at byte %d", errLarge, d.InputOffset())
	}
	return nil
}

// value reads a value into v. at says which it is, for messages.
func (d *decoder) value(v reflect.Value, at string) error {
	t := v.Type()
	switch {
	case flat(t), t.Kind() == reflect.Pointer && flat(t.Elem()), t.Kind() == reflect.Slice && scalar(t.Elem()):
		return d.whole(v, at)
	}
	begin, err := d.token()
	switch {
	case err != nil:
		return err
	case begin == nil: // null
		v.SetZero()
		return nil
	case t.Kind() == reflect.Pointer:
		if err := d.take(int64(t.Elem().Size())); err != nil {
			return err
		}
		v.Set(reflect.New(t.Elem()))
		v = v.Elem()
	}
	switch kind := v.Kind(); {
	case kind == reflect.Slice && begin != json.Delim('['):
		return d.mismatch(at, begin, "a list")
	case kind == reflect.Slice:
		return d.list(v, at)
	case begin != json.Delim('{'):
		return d.mismatch(at, begin, "an object")
	case kind == reflect.Map:
		return d.table(v, at)
	}
	return d.object(v, at)
}

// whole reads a value that takes little, all at once.
func (d *decoder) whole(v reflect.Value, at string) error {
	d.expect(mostValue)
	from := d.in.from
	err := d.Decode(v.Addr().Interface())
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: a %.40s does not belong there, at byte %d", place(at), wrong.Value, from)
	}
	if err != nil {
		return err
	}
	return d.take(held(v))
}

// object reads a struct after its brace. Members that it does not know are passed over.
func (d *decoder) object(v reflect.Value, at string) error {
	known := members(v.Type())
	for d.more() {
		name, err := d.token()
		if err != nil {
			return err
		}
		i, ok := known[name.(string)] // JSON's names are strings
		if ok {
			err = d.value(v.Field(i), at+"."+name.(string))
		} else {
			err = d.whole(reflect.ValueOf(new(json.RawMessage)).Elem(), at)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

// table reads a map after its brace.
func (d *decoder) table(v reflect.Value, at string) error {
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	for d.more() {
		name, err := d.token()
		if err != nil {
			return err
		}
		const place = 32 // of a key and of what a map needs beside keys and elements
		if err := d.take(place + int64(len(name.(string))) + int64(t.Elem().Size())); err != nil {
			return err
		}
		e := reflect.New(t.Elem()).Elem()
		if err := d.value(e, at+"."+name.(string)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name.(string)), e)
	}
	_, err := d.token()
	return err
}

// list reads a slice after its bracket.
func (d *decoder) list(v reflect.Value, at string) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	elem := v.Type().Elem()
	read := d.value
	if flat(elem) {
		read = d.whole
	}
	for n := 0; d.more(); n++ {
		size := int64(elem.Size())
		if int64(n)*size > mostList {
			return fmt.Errorf("%w: more than %d entries of %s", errLarge, n-1, place(at))
		}
		if err := d.take(size); err != nil {
			return err
		}
		if n == v.Cap() {
			v.Grow(max(1, n)) // twice as many: a quarter more, as append does, copies them four times
		}
		v.SetLen(n + 1)
		if err := read(v.Index(n), at); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

func (d *decoder) mismatch(at string, got json.Token, want string) error {
	what := "a string"
	switch got.(type) {
	case json.Delim:
		what = map[json.Token]string{json.Delim('{'): "an object", json.Delim('['): "a list"}[got]
	case float64:
		what = "a number"
	case bool:
		what = "true or false"
	}
	return fmt.Errorf("%s: %s where %s belongs, at byte %d", place(at), what, want, d.InputOffset())
}

// place words where in a document something is.
func place(at string) string {
	if at == "" {
		return "the document"
	}
	return at[1:]
}

// scalar reports whether values of a type are numbers, strings or truth values.
func scalar(t reflect.Type) bool {
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Array && flat(t)
}

// flat reports whether values of a type take no memory but their own and that of strings.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return false
	case reflect.Struct:
		for i := range t.NumField() {
			if !flat(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// held returns the memory that a value has besides its own: of strings, and of a list of scalars.
func held(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len()+7) &^ 7
	case reflect.Slice:
		n = int64(v.Len()) * int64(v.Type().Elem().Size())
		if v.Type().Elem().Kind() == reflect.String {
			for i := range v.Len() {
				n += held(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += held(v.Field(i))
		}
	}
	return n
}

// members returns the fields of a struct by their names in JSON.
func members(t reflect.Type) map[string]int {
	if m, ok := known.Load(t); ok {
		return m.(map[string]int)
	}
	m := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		m[name] = i
	}
	known.Store(t, m)
	return m
}

var known sync.Map // of members, by type
