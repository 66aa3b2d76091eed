package training

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"testing"
)

// TestDamagedOperators: times of operators are read from a text that is cut off anywhere, or in
// which any byte is replaced. The result is as stored: the times, or the line of the error.
func TestDamagedOperators(t *testing.T) {
	place := regexp.MustCompile(`line \d+`)
	digest := fnv.New64a()
	read := func(text string) {
		o, err := ReadOperators([]byte(text))
		if err != nil {
			fmt.Fprintln(digest, "error", place.FindString(err.Error()))
			return
		}
		fmt.Fprintln(digest, o)
	}
	read(operatorFile)
	for i := range operatorFile {
		read(operatorFile[:i])
		for _, other := range []byte{'1', ':', '\n', '-', operatorFile[i] ^ 0x01} {
			read(operatorFile[:i] + string(rune(other)) + operatorFile[i+1:])
		}
	}
	if got, want := digest.Sum64(), uint64(0xee94230cf760eabb); got != want {
		t.Errorf("operators: digest %#x, want %#x", got, want)
	}
}
