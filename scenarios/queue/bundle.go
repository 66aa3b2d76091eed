package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A result object holds one or more results, as a list in JSON. A worker stores at once all results that became ready
// while it was storing the ones before, so that short items share the cost of an object and a long one waits for
// nobody. The object's description is the key of its first result.

// The limits of a bundle; one result alone may be larger, up to mostBundle: its data take four thirds of their size.
const (
	bundleBytes   = 1 << 20
	bundleResults = 4096
	mostBundle    = MaxResult/3*4 + 1<<10
)

// size is what a result takes in memory and in a bundle, about.
func (r *Result) size() int { return len(r.Key) + len(r.Failed) + len(r.Data)/3*4 + 64 }

// tooLarge is the result of an item whose result was.
func tooLarge(key string) *Result {
	return failure(key, fmt.Sprintf("its result takes more than the %d bytes that a queue takes at most", MaxResult), true)
}

// decodeBundle returns the results of a bundle. They are read one by one: who made it up may have put any number into
// it.
func decodeBundle(b []byte) ([]Result, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return nil, errors.New("it does not begin as results do")
	}
	var rs []Result
	for d.More() {
		if len(rs) == bundleResults {
			return nil, fmt.Errorf("it holds more than %d results", bundleResults)
		}
		var r Result
		if err := d.Decode(&r); err != nil {
			return nil, err
		}
		switch {
		case len(r.Data) > MaxResult:
			r = *tooLarge(r.Key)
		case r.Failed != "":
			r = *failure(r.Key, r.Failed, r.Always)
		}
		rs = append(rs, r)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("it is cut short after %d results", len(rs))
	}
	return rs, nil
}
