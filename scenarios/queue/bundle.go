package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A result object holds one or more results. A worker stores at once all
// results that became ready while it was storing the ones before, so that short
// items share the cost of an object and a long one waits for nobody.
//
// The form of a bundle: its magic, then for each result the key, the reason of
// its failure and the data, each with its length before it as a uvarint.
const bundleMagic = "simres1\n"

// The limits of a bundle; one result alone may be larger.
const (
	bundleBytes   = 1 << 20
	bundleResults = 4096
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
		b = appendField(b, r.Data)
	}
	return b
}

func appendField[T string | []byte](b []byte, field T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// decodeBundle returns the results of a bundle; their data are parts of b.
func decodeBundle(b []byte) ([]Result, error) {
	if len(b) < len(bundleMagic) || string(b[:len(bundleMagic)]) != bundleMagic {
		return nil, errors.New("it does not begin as results do")
	}
	b = b[len(bundleMagic):]
	var rs []Result
	for len(b) > 0 {
		var fields [3][]byte
		for i := range fields {
			n, k := binary.Uvarint(b)
			if k <= 0 || n > uint64(len(b)-k) {
				return nil, fmt.Errorf("it is cut short after %d results", len(rs))
			}
			end := k + int(n)
			fields[i], b = b[k:end:end], b[end:]
		}
		r := Result{Key: string(fields[0]), Failed: string(fields[1])}
		if r.Failed == "" {
			r.Data = fields[2]
		}
		rs = append(rs, r)
	}
	return rs, nil
}
