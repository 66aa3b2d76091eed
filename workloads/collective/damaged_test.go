package collective

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"testing"
)

// places are the lines and columns of errors.
var places = regexp.MustCompile(`log(:\d+)+`)

// TestDamagedMatrices: sizes and entries are read from a text that is cut off anywhere, or in
// which any byte is replaced. The result is as stored: the numbers, or the lines and columns
// of all errors.
func TestDamagedMatrices(t *testing.T) {
	digest := fnv.New64a()
	look := func(value any, err error) {
		if err != nil {
			fmt.Fprintln(digest, "error", places.FindAllString(err.Error(), -1))
			return
		}
		fmt.Fprintln(digest, value)
	}
	each := func(text string, read func(text string)) {
		read(text)
		for i := range text {
			read(text[:i])
			for _, other := range []byte{'1', ',', '\n', '-', text[i] ^ 0x01} {
				read(text[:i] + string(rune(other)) + text[i+1:])
			}
		}
	}
	each("# sizes\n0, 4MB,7\n\n12,0,9.5kB\n1,2,0 # end\n", func(text string) {
		look(ReadSizes(strings.NewReader(text), "log", 3))
	})
	each("from,to,bytes\n0,1,4MB\n# none\n2,0,17\n 1 , 2 , 3kB # end", func(text string) {
		look(ReadEntries([]byte(text), "log"))
	})
	if got, want := digest.Sum64(), uint64(0x1c0bd9addc51a64); got != want {
		t.Errorf("matrices: digest %#x, want %#x", got, want)
	}
}
