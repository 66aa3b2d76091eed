package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// A result object holds one or more results. A worker stores at once all
// results that became ready while it was storing the ones before, so that short
// items share the cost of an object and a long one waits for nobody.
//
// The form of a bundle: its magic, then for each result the key, the reason of
// its failure, "always" if it fails each time, and the data, each with its
// length before it as a uvarint.
const bundleMagic = "simres2\n"

// The limits of a bundle; one result alone may be larger, up to mostBundle with
// its key and the rest, which take less than bundleHead.
const (
	bundleBytes   = 1 << 20
	bundleResults = 4096
	bundleHead    = 1 << 10
	mostBundle    = MaxResult + bundleHead
)

// size is what a result takes in memory and in a bundle, about.
func (r *Result) size() int { return len(r.Key) + len(r.Failed) + len(r.Data) + 16 }

func encodeBundle(rs []*Result) []byte {
	n := len(bundleMagic)
	for _, r := range rs {
		n += r.size()
	}
	b := append(make([]byte, 0, n), bundleMagic...)
	for _, r := range rs {
		b = appendField(b, r.Key)
		b = appendField(b, r.Failed)
		b = appendField(b, always(r.Always))
		b = appendField(b, r.Data)
	}
	return b
}

func appendField[T string | []byte](b []byte, field T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// always is how a bundle says that a result fails each time.
func always(yes bool) string {
	if yes {
		return "always"
	}
	return ""
}

// tooLarge is the result of an item whose result was.
func tooLarge(key string) *Result {
	return failure(key, fmt.Sprintf("its result takes more than the %d bytes that a queue takes at most", MaxResult), true)
}

// firstKey returns the key of the first result of a bundle, of which b is the
// beginning; "" if it has none.
func firstKey(b []byte) string {
	b, ok := bytes.CutPrefix(b, []byte(bundleMagic))
	n, k := binary.Uvarint(b)
	if !ok || k <= 0 || n > uint64(len(b)-k) {
		return ""
	}
	return string(b[k : k+int(n)])
}

// decodeBundle returns the results of a bundle; their data are parts of b.
func decodeBundle(b []byte) ([]Result, error) {
	if len(b) < len(bundleMagic) || string(b[:len(bundleMagic)]) != bundleMagic {
		return nil, errors.New("it does not begin as results do")
	}
	b = b[len(bundleMagic):]
	var rs []Result
	for len(b) > 0 {
		if len(rs) == bundleResults {
			return nil, fmt.Errorf("it holds more than %d results", bundleResults)
		}
		var fields [4][]byte
		for i := range fields {
			n, k := binary.Uvarint(b)
			if k <= 0 || n > uint64(len(b)-k) {
				return nil, fmt.Errorf("it is cut short after %d results", len(rs))
			}
			end := k + int(n)
			fields[i], b = b[k:end:end], b[end:]
		}
		key := string(fields[0])
		switch {
		case len(fields[3]) > MaxResult:
			rs = append(rs, *tooLarge(key))
		case len(fields[1]) > 0:
			rs = append(rs, *failure(key, string(fields[1]), string(fields[2]) == always(true)))
		default:
			rs = append(rs, Result{Key: key, Data: fields[3]})
		}
	}
	return rs, nil
}
