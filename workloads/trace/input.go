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

// Limits of the input. Memory use is at most MemoryPerByte times the bytes of the files
// plus MemoryPerRank per rank. Files with more than MaxOperations are rejected before
// anything is allocated for them.
const (
	// MaxRanks limits the number of ranks. Empty ranks then take 128 MB (MemoryPerRank).
	MaxRanks = 1 << 17
	// MaxUnpackRatio is the maximum number of unpacked bytes per byte of a gzip file. It
	// rejects zip bombs; traces are compressed by a factor of 10 to 30.
	MaxUnpackRatio = 64
	// MemoryPerByte and MemoryPerRank are upper bounds of the memory that a reader uses, in
	// bytes per byte of a file and per rank.
	MemoryPerByte = 256
	MemoryPerRank = 1 << 10
	// MaxMessageBytes limits the size of one message, call or buffer. Its product with
	// small numbers fits an int64.
	MaxMessageBytes = 1 << 50
	// maxComputeTime limits the computations of a rank together to a quarter of the range of
	// simulated time. The rest is for transfers.
	maxComputeTime = engine.Never / 4
)

// Limits that depend on the memory of a simulation; see SetMemory.
var (
	// MaxBytes limits the size of all files together, unpacked.
	MaxBytes = 256 << 20
	// MaxOperations limits the operations of all files together.
	MaxOperations = 1 << 22
)

// SetMemory sets MaxBytes and MaxOperations for simulations with the given bytes of memory. The
// defaults are for 8 GiB. It must be called before files are read.
//
// An operation takes about 360 bytes when it is read, and a kilobyte as a task. A simulation then
// takes up to three quarters of the memory.
func SetMemory(bytes float64) {
	const bytesPerOperation, bytesPerFileByte = 2 << 10, 32
	MaxOperations, MaxBytes = int(bytes/bytesPerOperation), int(bytes/bytesPerFileByte)
}

// maxDependencies bounds the dependencies of the nodes of all files together, which take as much
// memory as MaxOperations.
func maxDependencies() int { return 2 * MaxOperations }

// File is an input file, unpacked.
type File struct {
	Name string
	Data []byte
}

// Unpack returns a file, decompressed if it starts like a gzip file. It fails if the
// compressed data is corrupt or expands to more than MaxUnpackRatio times its size.
func Unpack(name string, data []byte) (File, error) {
	gzipMagic := []byte{0x1f, 0x8b}
	if !bytes.HasPrefix(data, gzipMagic) {
		return File{Name: name, Data: data}, nil
	}
	fail := func(err error) error {
		return &Error{File: name, Record: 1,
			Problem: "is a corrupt gzip file: " + err.Error(), Want: "a complete file"}
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return File{}, fail(err)
	}

	const allowance = 1 << 16 // a short file may have a higher ratio
	maxSize := min(MaxBytes, MaxUnpackRatio*len(data)+allowance)
	out, err := io.ReadAll(io.LimitReader(r, int64(maxSize)+1))
	switch {
	case err != nil:
		return File{}, fail(err)
	case len(out) > maxSize:
		return File{}, &Error{File: name, Record: 1,
			Problem: fmt.Sprintf("%d bytes unpack to more than %d", len(data), maxSize),
			Want:    "a lower compression ratio"}
	}

	return File{Name: name, Data: out}, nil
}

// Error describes an invalid record of a file.
type Error struct {
	File string
	// From 1; the line of a text file; 0 refers to the whole file.
	Record  int
	Byte    int    // offset of the record, from 0
	Problem string // the problem, with the value
	Want    string // the accepted input
}

// Error returns the location, the problem and the accepted input in one line.
func (e *Error) Error() string { return e.Summary() + "; want " + e.Want }

// Summary is Error without the accepted input.
func (e *Error) Summary() string {
	if e.Record == 0 {
		return e.File + ": " + e.Problem
	}
	return fmt.Sprintf("%s: record %d (byte %d): %s", e.File, e.Record, e.Byte, e.Problem)
}

// problemError is an Error without a location.
type problemError struct{ problem, want string }

func (e problemError) Error() string { return e.problem + "; want " + e.want }

// invalid returns a problemError. want is the accepted value, and precedes the problem, which
// format and args state.
func invalid(want, format string, args ...any) error {
	return problemError{fmt.Sprintf(format, args...), want}
}

// jsonError converts an error of reading JSON to an Error. The record is a line. The
// value to which err refers starts at byte begin of the file. what names the content of
// the file.
func jsonError(f File, begin int, err error, what, want string) error {
	problem, offset := err.Error(), 0
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	var syntaxErr jsonSyntaxError

	// The offsets of encoding/json point behind the error, relative to the value.
	if errors.As(err, &syntax) {
		offset = int(syntax.Offset)
	} else if errors.As(err, &syntaxErr) {
		offset = syntaxErr.offset + 1
	} else if errors.As(err, &typed) {
		problem = fmt.Sprintf("%s of the wrong type (%.40s)",
			cmp.Or(typed.Field, "a value"), typed.Value)
		offset = int(typed.Offset)
	}

	offset = min(max(0, begin+offset-1), len(f.Data))
	return f.errorAtLine(offset, "is not valid JSON of "+what+": "+problem, want)
}

// errorAtLine returns an Error of a text file at a byte offset. The record is its line.
func (f File) errorAtLine(offset int, problem, want string) error {
	line := 1 + bytes.Count(f.Data[:offset], []byte{'\n'})
	return &Error{File: f.Name, Record: line, Byte: offset, Problem: problem, Want: want}
}

// jsonReader locates the values of a JSON text without decoding them, so that a long list
// is decoded one value at a time. It checks only separators; json.Unmarshal checks the
// values.
//
// Each method starts at the current offset and leaves it behind the text that it has
// read.
type jsonReader struct {
	data   []byte
	offset int // next byte
}

// next skips whitespace and returns the next byte, or 0 at the end.
func (r *jsonReader) next() byte {
	for ; r.offset < len(r.data); r.offset++ {
		if c := r.data[r.offset]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// jsonSyntaxError reports the position and the character at which a text is not JSON. The
// character is 0 at the end of the text.
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

// syntaxError returns a jsonSyntaxError for the next byte.
func (r *jsonReader) syntaxError() error {
	return jsonSyntaxError{r.offset, r.next()}
}

// object visits the keys of an object that forms the whole text. The function visit must
// read the value of the key.
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

// array visits the values of an array that starts at the next byte. The function visit
// must read the value.
func (r *jsonReader) array(visit func() error) error {
	r.offset++
	return r.list(']', visit)
}

// list visits comma-separated elements up to the character end.
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

// value returns the text of the next value and its offset. The value ends where its
// brackets are closed.
func (r *jsonReader) value() (text []byte, begin int, err error) {
	r.next()
	begin = r.offset
	depth := 0
	for r.offset < len(r.data) {
		switch c := r.data[r.offset]; c {
		case '"':
			// Skip the string, with its escaped characters.
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
			// Outside of brackets, a separator ends the value.
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

// countOperations fails if n exceeds MaxOperations.
func countOperations(file string, n int) error {
	if n <= MaxOperations {
		return nil
	}
	return &Error{File: file, Problem: fmt.Sprintf("holds %d operations or more", n),
		Want: fmt.Sprintf("at most %d, or more memory by --max-memory", MaxOperations)}
}

// countLines returns the number of lines that contain one of the words as a separate
// field before any comment. It stops counting beyond MaxOperations.
func countLines(data []byte, words ...string) (n int) {
	for len(data) > 0 && n <= MaxOperations {
		line := data
		if k := bytes.IndexByte(data, '\n'); k >= 0 {
			line, data = data[:k], data[k+1:]
		} else {
			data = nil
		}

		// Ignore comments.
		if k := bytes.Index(line, []byte("//")); k >= 0 {
			line = line[:k]
		}
		isBlank := func(c byte) bool { return c == ' ' || c == '\t' }
		for _, w := range words {
			begin := bytes.Index(line, []byte(w))
			end := begin + len(w)
			if begin >= 0 && (begin == 0 || isBlank(line[begin-1])) && end < len(line) && isBlank(line[end]) {
				n++
				break
			}
		}
	}

	return n
}

// lineReader reads a text line by line. Lines and words alias the file's content, so
// files of millions of lines are read without garbage.
type lineReader struct {
	file   File
	next   int      // offset of the next line
	Line   int      // number of the current line, from 1
	offset int      // offset of the current line
	Text   string   // current line without its end
	words  []string // buffer of fields
}

// fields returns the words of a text. The result is valid until the next call.
func (l *lineReader) fields(text string) []string {
	l.words = slices.AppendSeq(l.words[:0], strings.FieldsSeq(text))
	return l.words
}

// scan advances to the next line. It returns false at the end.
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

	// A string that shares the memory is safe, because the content of a File is never
	// modified.
	line := bytes.TrimSuffix(rest[:n], []byte{'\r'})
	l.Text = unsafe.String(unsafe.SliceData(line), len(line))
	return true
}

// locate adds the position of the current line to an error.
func (l *lineReader) locate(err error) error {
	return locate(err, l.file.Name, max(1, l.Line), l.offset)
}

// invalid returns an Error at the current line.
func (l *lineReader) invalid(want, format string, args ...any) error {
	return l.locate(invalid(want, format, args...))
}

// Values of Error.Record and Error.Byte: the whole file, its first record, and its first byte.
const (
	wholeFile   = 0
	firstRecord = 1
	firstByte   = 0
)

// locate adds a position to a problemError: the file, the number of the record, and the
// byte at which it starts. Other errors are returned unchanged.
func locate(err error, file string, record, offset int) error {
	var e problemError
	if errors.As(err, &e) {
		return &Error{File: file, Record: record, Byte: offset, Problem: e.problem, Want: e.want}
	}
	return err
}

// parseInteger parses a decimal integer between minValue and maxValue. what names it in
// errors.
func parseInteger(what, text string, minValue, maxValue int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < minValue || n > maxValue {
		return 0, invalid(fmt.Sprintf("a whole number from %d to %d", minValue, maxValue),
			"%s is %.40q", what, text)
	}
	return n, nil
}

// parseWhole is parseInteger for integers that may be written as floating-point numbers.
func parseWhole(what, text string, minValue, maxValue int64) (int64, error) {
	const maxExact = 1 << 53 // larger integers are not exact in a float64
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && strings.ContainsAny(text, ".eE") && f == math.Trunc(f) && math.Abs(f) < maxExact {
		text = strconv.FormatInt(int64(f), 10)
	}
	return parseInteger(what, text, minValue, maxValue)
}
