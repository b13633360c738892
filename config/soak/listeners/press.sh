# Stamps what it is given.
IFS= read -r line
token=${line#*<token>} token=${token%%<*}
mark=${line#*<mark>} mark=${mark%%<*}
echo "<stamped xmlns=\"https://xml-pipeline.org/ns/press/v1\"><token>$token</token><mark>$mark</mark></stamped>"
