// This file formats numbers of things for titles.

package assembly

import (
	"fmt"
)

// Plural returns a number with a noun in singular or plural, such as "1 pod" or "2 pods".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// MaxNamedItems is the maximum number of items of one kind that a title names. More items
// are summarised.
const MaxNamedItems = 4
