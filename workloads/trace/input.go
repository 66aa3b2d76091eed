package trace

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"sim/engine"
)

// What is read at most. All that files become takes at most Factor times their bytes, and PerRank for each rank. Files
// of more than MaxOperations are refused before anything is made of them.
const (
	MaxBytes        = 256 << 20 // of all files together, unpacked
	MaxOperations   = 1 << 22   // of all files together: some 1.5 GB of memory
	MaxRanks        = 1 << 17
	MaxUnpackRatio  = 64      // bytes that a byte of a packed file unpacks to
	MemoryPerByte   = 256     // bytes of memory for a byte of a file
	MemoryPerRank   = 1 << 10 // bytes of memory for a rank
	MaxMessageBytes = 1 << 50 // bytes of one message, call or buffer
	maxComputeTime  = engine.Never / 4
)

// File is a file of a workload, unpacked.
type File struct {
	Name string
	Data []byte
}

// Unpack returns a file, unpacked where it is packed by gzip, which its first bytes say. It fails where that is broken,
// or unpacks to more than MaxPacked times its size.
func Unpack(name string, data []byte) (File, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return File{name, data}, nil
	}
	fail := func(err error) error {
		return &Error{File: name, Record: 1, Problem: "is packed by gzip and broken: " + err.Error(), Want: "a whole file"}
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return File{}, fail(err)
	}
	maxSize := min(MaxBytes, MaxUnpackRatio*len(data)+1<<16)
	out, err := io.ReadAll(io.LimitReader(r, int64(maxSize)+1))
	switch {
	case err != nil:
		return File{}, fail(err)
	case len(out) > maxSize:
		return File{}, &Error{File: name, Record: 1, Problem: fmt.Sprintf("%d bytes unpack to more than %d", len(data), maxSize), Want: "one that is not packed as much"}
	}
	return File{name, out}, nil
}

// Error is what is wrong with a record of a file.
type Error struct {
	File    string
	Record  int // from 1; a line of a text; 0 of the whole file
	Byte    int // where it begins, from 0
	Problem string
	Want    string
}

// Error says all in a line.
func (e *Error) Error() string { return e.Summary() + "; want " + e.Want }

// Summary is Error without what would be right.
func (e *Error) Summary() string {
	if e.Record == 0 {
		return e.File + ": " + e.Problem
	}
	return fmt.Sprintf("%s: record %d (byte %d): %s", e.File, e.Record, e.Byte, e.Problem)
}

// problemError is an error without a place: what is wrong, and what would be right.
type problemError struct{ problem, want string }

func (e problemError) Error() string { return e.problem + "; want " + e.want }

// invalid makes one.
func invalid(want, format string, args ...any) error {
	return problemError{fmt.Sprintf(format, args...), want}
}

// jsonError says what of a JSON file is wrong, and where: its record is a line. The value that err is about begins at byte
// begin of the file.
func jsonError(f File, begin int, err error, what, want string) error {
	problem, offset := err.Error(), 0
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	var syntaxErr jsonSyntaxError
	if errors.As(err, &syntax) {
		offset = int(syntax.Offset)
	} else if errors.As(err, &syntaxErr) {
		offset = syntaxErr.offset + 1
	} else if errors.As(err, &typed) {
		problem, offset = fmt.Sprintf("%s of the wrong type (%.40s)", cmp.Or(typed.Field, "a value"), typed.Value), int(typed.Offset)
	}
	offset = min(max(0, begin+offset-1), len(f.Data))
	return &Error{f.Name, 1 + bytes.Count(f.Data[:offset], []byte{'\n'}), offset, "is no JSON of " + what + ": " + problem, want}
}

// jsonReader finds the values of a JSON text without making anything of them, so that a long list is read one value at a
// time. It checks only what separates values; json.Unmarshal checks each.
type jsonReader struct {
	data   []byte
	offset int // the next byte
}

// next returns the next byte that is no blank, and goes to it; 0 at the end.
func (r *jsonReader) next() byte {
	for ; r.offset < len(r.data); r.offset++ {
		if c := r.data[r.offset]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// jsonSyntaxError says at which byte a text stops being JSON, and by which character; 0 at its end.
type jsonSyntaxError struct {
	offset int
	char   byte
}

func (f jsonSyntaxError) Error() string {
	if f.char == 0 {
		return "unexpected end of JSON input"
	}
	return fmt.Sprintf("unexpected character %q", f.char)
}

// syntaxError is the fault at the next byte.
func (r *jsonReader) syntaxError() error { return jsonSyntaxError{r.offset, r.next()} }

// object visits the keys of an object, which is the whole text; visit reads the value of each.
func (r *jsonReader) object(visit func(key string) error) error {
	if r.next() != '{' {
		return r.syntaxError()
	}
	r.offset++
	err := r.list('}', func() error {
		value, begin, err := r.value()
		if err != nil {
			return err
		}
		var key string
		if json.Unmarshal(value, &key) != nil || len(value) == 0 || value[0] != '"' {
			r.offset = begin
			return r.syntaxError()
		}
		if r.next() != ':' {
			return r.syntaxError()
		}
		r.offset++
		r.next()
		return visit(key)
	})
	if err == nil && r.next() != 0 {
		return r.syntaxError()
	}
	return err
}

// array visits the values of an array that begins at the next byte; visit reads each.
func (r *jsonReader) array(visit func() error) error {
	r.offset++
	return r.list(']', visit)
}

// list visits what commas separate up to end.
func (r *jsonReader) list(end byte, visit func() error) error {
	if r.next() == end {
		r.offset++
		return nil
	}
	for {
		r.next()
		if err := visit(); err != nil {
			return err
		}
		switch r.next() {
		case ',':
			r.offset++
		case end:
			r.offset++
			return nil
		default:
			return r.syntaxError()
		}
	}
}

// value returns the text of the next value, and where it begins. The value ends where its brackets are closed.
func (r *jsonReader) value() (text []byte, begin int, err error) {
	r.next()
	begin = r.offset
	depth := 0
	for r.offset < len(r.data) {
		switch c := r.data[r.offset]; c {
		case '"':
			for r.offset++; r.offset < len(r.data) && r.data[r.offset] != '"'; r.offset++ {
				if r.data[r.offset] == '\\' {
					r.offset++
				}
			}
			if r.offset >= len(r.data) {
				r.offset = len(r.data)
				return nil, begin, r.syntaxError()
			}
		case '[', '{':
			depth++
		case ']', '}', ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				if r.offset == begin {
					return nil, begin, r.syntaxError()
				}
				return r.data[begin:r.offset], begin, nil
			}
			if c == ']' || c == '}' {
				depth--
			}
		}
		r.offset++
	}
	return nil, begin, r.syntaxError()
}

// countOperations fails if files hold more operations than are read.
func countOperations(file string, n int) error {
	if n <= MaxOperations {
		return nil
	}
	return &Error{File: file, Problem: fmt.Sprintf("holds %d operations or more", n), Want: fmt.Sprintf("at most %d", MaxOperations)}
}

// countLines returns how many lines of a text have one of some words as a field of their own, before any comment, up to
// one more than MaxOperations.
func countLines(data []byte, words ...string) (n int) {
	for len(data) > 0 && n <= MaxOperations {
		line := data
		if k := bytes.IndexByte(data, '\n'); k >= 0 {
			line, data = data[:k], data[k+1:]
		} else {
			data = nil
		}
		if k := bytes.Index(line, []byte("//")); k >= 0 {
			line = line[:k]
		}
		for _, w := range words {
			if k := bytes.Index(line, []byte(w)); k >= 0 && (k == 0 || line[k-1] == ' ' || line[k-1] == '\t') && k+len(w) < len(line) && (line[k+len(w)] == ' ' || line[k+len(w)] == '\t') {
				n++
				break
			}
		}
	}
	return n
}

// lineReader reads a text line by line. Lines and their words are parts of the file's content and take no memory of their own:
// files of millions of lines are read without garbage.
type lineReader struct {
	file   File
	next   int // byte of the next line
	Line   int // number of the last line, from 1
	offset int // its byte
	Text   string
	words  []string // room of fields
}

// fields returns the words of a text between blanks, until it is called again.
func (l *lineReader) fields(text string) []string {
	l.words = slices.AppendSeq(l.words[:0], strings.FieldsSeq(text))
	return l.words
}

// scan goes on to the next line, without its end.
func (l *lineReader) scan() bool {
	if l.next >= len(l.file.Data) {
		return false
	}
	l.Line, l.offset = l.Line+1, l.next
	rest := l.file.Data[l.next:]
	n := bytes.IndexByte(rest, '\n')
	if l.next += n + 1; n < 0 {
		n, l.next = len(rest), len(l.file.Data)
	}
	line := bytes.TrimSuffix(rest[:n], []byte{'\r'})
	l.Text = unsafe.String(unsafe.SliceData(line), len(line)) // files are not written to
	return true
}

// locate gives an error the place of the last line.
func (l *lineReader) locate(err error) error {
	return locate(err, l.file.Name, max(1, l.Line), l.offset)
}

// invalid is an error at the last line.
func (l *lineReader) invalid(want, format string, args ...any) error {
	return l.locate(invalid(want, format, args...))
}

// locate gives an error that has none a place.
func locate(err error, file string, record, at int) error {
	var e problemError
	if errors.As(err, &e) {
		return &Error{file, record, at, e.problem, e.want}
	}
	return err
}

// parseInteger reads a whole number of a text that is called what, from least to most.
func parseInteger(what, text string, minValue, maxValue int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < minValue || n > maxValue {
		return 0, invalid(fmt.Sprintf("a whole number from %d to %d", minValue, maxValue), "%s is %.40q", what, text)
	}
	return n, nil
}

// parseWhole is integer of a number that may be written as a float of no fraction.
func parseWhole(what, text string, minValue, maxValue int64) (int64, error) {
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".eE") && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		text = strconv.FormatInt(int64(f), 10)
	}
	return parseInteger(what, text, minValue, maxValue)
}
