package csr

import (
	"slices"
	"testing"
)

// TestSort compares Sort and Index with rows written by hand, with an empty row and omitted
// items.
func TestSort(t *testing.T) {
	start, words := Sort([]string{"b2", "a1", "", "b1", "d0"}, 4, func(s string) int32 {
		if s == "" {
			return -1
		}
		return int32(s[0] - 'a')
	})
	if !slices.Equal(start, []int32{0, 1, 3, 3, 4}) || !slices.Equal(words, []string{"a1", "b2", "b1", "d0"}) {
		t.Error(start, words)
	}
	start, index := Index([]int32{1, 0, 1, -1}, 2)
	if !slices.Equal(start, []int32{0, 1, 3}) || !slices.Equal(index, []int32{1, 0, 2}) {
		t.Error(start, index)
	}
	if start, none := Index(nil, 0); len(start) != 1 || none == nil {
		t.Error(start, none)
	}
}
