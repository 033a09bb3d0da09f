// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

contract Counter {
    uint256 public number;

    event Set(address indexed by, uint256 value);

    error TooLarge(uint256 value);

    function set(uint256 value) external {
        if (value > 100) revert TooLarge(value);
        number = value;
        emit Set(msg.sender, value);
    }

    function increment() external {
        number++;
    }
}
