// Package schema reads TOML files whose keys are fields of tagged structs. The same tags say how a key is checked, what
// it is where a file does not give it, when it is used and what it means, so a package that has options declares them
// once, beside the code that they configure:
//
//	type Multipath struct {
//		Ways int    `key:"ways" doc:"maximum number of paths per pair" default:"8" min:"1" max:"1024"`
//		Over string `key:"over" doc:"kind of paths" default:"shortest" choices:"shortest|wild-first"`
//		Slack int   `key:"extra_hops" doc:"number of hops by which paths may be longer than the shortest" default:"0" when:"over=wild-first"`
//	}
//
// A New schema binds structs to the tables of one file; a Reader fills them and gathers every Diagnostic; Write writes
// them back, in the order of their fields; Reference documents them, and JSON describes them to editors.
//
// The tags of a field, of which key or table makes it known here (others are left alone):
//
//	key       name in the file. A blank field (_) is a key that is checked and not kept: another reads it.
//	table     name of a table below the struct's own, which the field, a struct, describes
//	with      (on a table) KEY=DEFAULT, another default of one of its keys
//	inline    (on a struct, or of an embedded one) its keys stand among those around it
//	doc       what it means; 'x' is set as code
//	source    it stands for other keys, which are written back in its place
//	output    it names a directory that is written to
//	required  it must be given where it is used
//	default   its value where it is not given; * is all choices
//	else      the same in words, of a value that Part.Defaults computes
//	min, max  bounds of a number, of each number of a list, or of a rate in bits per second
//	above     min itself is too small
//	choices   texts that are allowed, with | between, or @ and the name of one of Names.Choices
//	unset     "" is allowed beside choices
//	implicit  the default is not written back
//	empty     the list may be empty
//	called    the key's name in messages of conditions on it
//	when      the condition for its use
//
// A condition is terms with & between, the first of which that does not hold is told. A term is KEY=A|B, of a key whose
// value is one of those; KEY~A|B, of a list that holds one; or the NAME(A|B) of one of Names.Conditions. A KEY without
// a dot is of the same table.
//
// The package knows keys, not what they are for: kinds of scenarios, and what holds between keys, is scenarios' to say.
package schema
