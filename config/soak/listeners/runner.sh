# Carries something away in its own thread.
IFS= read -r line
token=${line#*<token>} token=${token%%<*}
echo "<carried xmlns=\"https://xml-pipeline.org/ns/runner/v1\"><token>$token</token></carried>"
