// This file decodes stored documents within limits of text and memory.

package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"sim/internal/alias"
)

// Documents may be damaged or malicious. Memory is therefore limited during decoding:
// otherwise a few megabytes of gzip data, or of empty braces, could expand to gigabytes.

// decodeLimits limits a document.
type decodeLimits struct {
	textBytes   int64 // bytes of JSON
	memoryBytes int64 // memory of the decoded value, approximately
}

// decodeLimitsOf returns the limits of a document that is read into a pointer from a file
// of size bytes.
//
// The largest document of a run is the detail. A span takes about 65 bytes of memory and
// 75 bytes of text, and the limit allows two million spans: the number of tasks of the
// largest scenarios. Documents of a sweep have no maximum size. They may use memory in
// proportion to the file; a cell takes about twice its text.
func decodeLimitsOf(into any, size int64) decodeLimits {
	of := decodeLimits{textBytes: 256 << 20, memoryBytes: 128 << 20}
	switch into.(type) {
	case *Manifest:
		return decodeLimits{textBytes: 1 << 20, memoryBytes: 4 << 20}
	case *Document, *Timings, *Detail:
		return of
	}
	return decodeLimits{textBytes: max(of.textBytes, size), memoryBytes: 4<<20 + 4*size}
}

const (
	// maxValueBytes is the maximum text of a value that is decoded at once: a string, a
	// number, a list of these, or a small struct. The longest is a series of a million
	// points.
	maxValueBytes = 16 << 20
	// maxNameBytes is the maximum text between values: names, brackets and spaces.
	maxNameBytes = 64 << 10
	// maxListBytes is the maximum memory of a list. A growing list temporarily takes
	// three times as much.
	maxListBytes = 64 << 20
)

// errTooLarge is wrapped by errors about documents that exceed their limits.
var errTooLarge = errors.New("it holds more than a run can")

// Decode is Load for a reader. size is the size of the file in bytes.
func Decode(r io.Reader, size int64, into any) error {
	return decode(r, into, decodeLimitsOf(into, size))
}

// decode reads the single JSON document in r like json.Unmarshal, but value by value and
// within limits. into points to a struct or a slice.
func decode(r io.Reader, into any, lim decodeLimits) error {
	// The decoder reads tokens one by one, so that each value is limited before it is allocated.
	// json.Unmarshal would allocate the whole document first.
	in := &limitedReader{r: r, remaining: lim.textBytes}
	d := &decoder{Decoder: json.NewDecoder(in), in: in, memory: lim.memoryBytes}
	if err := d.readValue(reflect.ValueOf(into).Elem(), ""); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("unexpected end of JSON input")
		}
		return err
	}

	// Only one document may be in the file.
	if _, err := d.token(); err == nil {
		return errors.New("more follows the document")
	} else if err != io.EOF {
		return err
	}
	return nil
}

// limitedReader passes a text through and fails if the document or a value is too long.
type limitedReader struct {
	r          io.Reader
	remaining  int64 // remaining bytes of the document
	consumed   int64 // bytes read
	valueStart int64 // offset of the value being read
	maxValue   int64 // limit of that value, in bytes
}

// decoderBufferBytes is how far a json.Decoder may read past the returned value.
const decoderBufferBytes = 32 << 10

// Read reads at most decoderBufferBytes at once. So the decoder never reads further past a value
// than the limit of the value assumes.
func (m *limitedReader) Read(p []byte) (int, error) {
	if m.consumed > m.valueStart+m.maxValue+decoderBufferBytes {
		return 0, fmt.Errorf("%w: a value of more than %d KiB", errTooLarge, m.maxValue>>10)
	}
	n, err := m.r.Read(p[:min(len(p), decoderBufferBytes)])
	m.consumed += int64(n)
	if m.remaining -= int64(n); m.remaining < 0 {
		return 0, fmt.Errorf("%w: more than %d MiB of text", errTooLarge, (m.consumed+m.remaining)>>20)
	}
	return n, err
}

// decoder reads a document into a Go value.
type decoder struct {
	*json.Decoder
	in     *limitedReader
	memory int64 // remaining budget in bytes
}

// limitNext limits the next value to max bytes.
func (d *decoder) limitNext(max int64) { d.in.valueStart, d.in.maxValue = d.InputOffset(), max }

// token returns the next token: a bracket or a name.
func (d *decoder) token() (json.Token, error) {
	d.limitNext(maxNameBytes)
	return d.Token()
}

// more reports whether an object or a list has another element. A read error is reported
// by the next call of token.
func (d *decoder) more() bool {
	d.limitNext(maxNameBytes)
	return d.More()
}

// charge uses n bytes of the memory budget.
func (d *decoder) charge(n int64) error {
	if d.memory -= n; d.memory < 0 {
		return fmt.Errorf("%w, at byte %d", errTooLarge, d.InputOffset())
	}
	return nil
}

// readValue reads a value into v. at is its path for messages.
func (d *decoder) readValue(v reflect.Value, at string) error {
	t := v.Type()
	switch {
	case isFlat(t), t.Kind() == reflect.Pointer && isFlat(t.Elem()), t.Kind() == reflect.Slice && isScalar(t.Elem()):
		return d.decodeWhole(v, at)
	}

	// A list, a map or a struct begins with a bracket. A null leaves the zero value.
	begin, err := d.token()
	switch {
	case err != nil:
		return err
	case begin == nil: // null
		v.SetZero()
		return nil
	case t.Kind() == reflect.Pointer:
		if err := d.charge(int64(t.Elem().Size())); err != nil {
			return err
		}
		v.Set(reflect.New(t.Elem()))
		v = v.Elem()
	}

	// The opening bracket must fit the Go type. It is consumed; the functions below read the
	// elements and the closing bracket.
	switch kind := v.Kind(); {
	case kind == reflect.Slice && begin != json.Delim('['):
		return d.mismatchError(at, begin, "a list")
	case kind == reflect.Slice:
		return d.readList(v, at)
	case begin != json.Delim('{'):
		return d.mismatchError(at, begin, "an object")
	case kind == reflect.Map:
		return d.readMap(v, at)
	}
	return d.readObject(v, at)
}

// decodeWhole reads a small value with a single call of Decode.
func (d *decoder) decodeWhole(v reflect.Value, at string) error {
	d.limitNext(maxValueBytes)

	// The offset is stored before the call, because InputOffset points behind the value
	// afterwards.
	from := d.in.valueStart
	err := d.Decode(v.Addr().Interface())
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: a %.40s does not belong there, at byte %d", describePath(at), wrong.Value, from)
	}
	if err != nil {
		return err
	}
	return d.charge(heldBytes(v))
}

// readObject reads a struct after its opening brace. Unknown members are skipped.
func (d *decoder) readObject(v reflect.Value, at string) error {
	known := fieldsByName(v.Type())
	for d.more() {
		name, err := d.token()
		if err != nil {
			return err
		}

		// The text of an unknown member is read and dropped. Newer minor versions of a document
		// may have such members.
		i, ok := known[name.(string)] // JSON's names are strings
		if ok {
			err = d.readValue(v.Field(i), at+"."+name.(string))
		} else {
			err = d.decodeWhole(reflect.ValueOf(new(json.RawMessage)).Elem(), at)
		}
		if err != nil {
			return err
		}
	}
	switch x := v.Addr().Interface().(type) {
	case *Axis:
		x.rename()
	case *Plot:
		x.Rename(func(string, string) {})
	}
	_, err := d.token()
	return err
}

// readMap reads a map after its opening brace.
func (d *decoder) readMap(v reflect.Value, at string) error {
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	for d.more() {
		name, err := d.token()
		if err != nil {
			return err
		}
		const place = 32 // bytes of a map entry besides the text of the key and the element
		if err := d.charge(place + int64(len(name.(string))) + int64(t.Elem().Size())); err != nil {
			return err
		}
		e := reflect.New(t.Elem()).Elem()
		if err := d.readValue(e, at+"."+name.(string)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(currentName(at, name.(string))), e)
	}
	_, err := d.token()
	return err
}

// readList reads a slice after its opening bracket.
func (d *decoder) readList(v reflect.Value, at string) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))

	// Flat elements are decoded with one call each, without a call of token per field.
	elem := v.Type().Elem()
	read := d.readValue
	if isFlat(elem) {
		read = d.decodeWhole
	}
	for n := 0; d.more(); n++ {
		size := int64(elem.Size())
		if int64(n)*size > maxListBytes {
			return fmt.Errorf("%w: more than %d entries of %s", errTooLarge, n-1, describePath(at))
		}
		if err := d.charge(size); err != nil {
			return err
		}
		if n == v.Cap() {
			v.Grow(max(1, n)) // doubling copies elements less often than append's growth by a quarter
		}
		v.SetLen(n + 1)
		if err := read(v.Index(n), at); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

// mismatchError returns the error for a value at path at that begins with token got, where the
// Go type needs want, such as "a list".
func (d *decoder) mismatchError(at string, got json.Token, want string) error {
	what := "a string"
	switch got.(type) {
	case json.Delim:
		what = map[json.Token]string{json.Delim('{'): "an object", json.Delim('['): "a list"}[got]
	case float64:
		what = "a number"
	case bool:
		what = "true or false"
	}
	return fmt.Errorf("%s: %s where %s belongs, at byte %d", describePath(at), what, want, d.InputOffset())
}

// describePath names the location of a value for messages.
func describePath(at string) string {
	if at == "" {
		return "the document"
	}
	return at[1:]
}

// isScalar reports whether a type is a number, string or bool.
func isScalar(t reflect.Type) bool {
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Array && isFlat(t)
}

// isFlat reports whether values of a type consist of fixed-size memory and strings.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return false
	case reflect.Struct:
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// heldBytes returns the memory that a value references: strings, and the elements of a
// list of scalars.
func heldBytes(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len()+7) &^ 7 // rounded up to a multiple of 8
	case reflect.Slice:
		n = int64(v.Len()) * int64(v.Type().Elem().Size())
		if v.Type().Elem().Kind() == reflect.String {
			for i := range v.Len() {
				n += heldBytes(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += heldBytes(v.Field(i))
		}
	}
	return n
}

// fieldsByName returns the field indices of a struct by JSON name.
func fieldsByName(t reflect.Type) map[string]int {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]int)
	}
	m := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		m[name] = i
	}
	if t == reflect.TypeFor[Plot]() {
		for _, r := range alias.Keys {
			if old, ok := strings.CutPrefix(r.Old, "plot."); ok {
				m[old] = m[r.New]
			}
		}
	}
	fieldCache.Store(t, m)
	return m
}

// fieldCache stores the results of fieldsByName, keyed by reflect.Type. Details have a million
// structs of few types.
var fieldCache sync.Map
